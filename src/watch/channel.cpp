#include "watch/channel.hpp"

#include <fmt/format.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace lapwing::watch {
namespace {

constexpr std::size_t piece = 64 << 10;

}  // namespace

std::vector<std::byte> frame_head(FrameKind kind, std::size_t bytes) {
    std::vector<std::byte> head{static_cast<std::byte>(kind)};
    for (int shift = 0; shift < 32; shift += 8) head.push_back(static_cast<std::byte>(bytes >> shift));
    return head;
}

std::size_t announced_bytes(std::span<const std::byte, frame_head_bytes> head) {
    std::size_t bytes = 0;
    for (std::size_t i = 4; i >= 1; --i) bytes = bytes << 8 | std::to_integer<std::size_t>(head[i]);
    return bytes;
}

std::shared_ptr<Channel> Channel::open(EventLoop& loop, int descriptor, std::function<void()> release,
                                       std::size_t max_bytes, Work work) {
    std::shared_ptr<Channel> channel(
        new Channel(loop, descriptor, std::move(release), max_bytes, std::move(work)));
    channel->watch();
    return channel;
}

Channel::Channel(EventLoop& loop, int descriptor, std::function<void()> release, std::size_t max_bytes,
                 Work work)
    : loop_(loop),
      descriptor_(descriptor),
      release_(std::move(release)),
      max_bytes_(max_bytes),
      work_(std::move(work)) {}

Channel::~Channel() {
    close();
}

void Channel::close() {
    if (descriptor_ < 0) return;
    loop_.forget(std::exchange(descriptor_, -1));
    if (const auto release = std::exchange(release_, {})) release();
}

void Channel::end(const std::string& why) {
    if (descriptor_ < 0) return;
    close();
    if (const auto work = std::exchange(work_.end, {})) work(*this, why);
}

void Channel::watch() {
    const unsigned events = EPOLLIN | EPOLLRDHUP | (unsent() > 0 ? EPOLLOUT : 0U);
    if (std::exchange(watched_, events) == events) return;
    loop_.watch(descriptor_, events, [weak = weak_from_this()](unsigned found) {
        if (const auto alive = weak.lock()) alive->advance(found);
    });
}

void Channel::advance(unsigned events) {
    if (descriptor_ >= 0 && (events & EPOLLOUT) != 0 && !write()) return;
    if (descriptor_ >= 0 && (events & ~EPOLLOUT) != 0 && !read()) return;
    if (descriptor_ >= 0) watch();
}

void Channel::send(FrameKind kind, std::span<const std::byte> bytes) {
    if (descriptor_ < 0) return;
    const auto head = frame_head(kind, bytes.size());
    output_.insert(output_.end(), head.begin(), head.end());
    output_.insert(output_.end(), bytes.begin(), bytes.end());
    if (write() && descriptor_ >= 0) watch();
}

void Channel::refuse(FrameKind kind, std::span<const std::byte> bytes) {
    finishing_ = true;
    work_.frame = {};
    send(kind, bytes);
}

bool Channel::write() {
    while (unsent() > 0) {
        const ssize_t count =
            ::send(descriptor_, output_.data() + sent_, unsent(), MSG_NOSIGNAL | MSG_DONTWAIT);
        if (count > 0) {
            sent_ += static_cast<std::size_t>(count);
            continue;
        }
        if (errno == EINTR) continue;
        if (errno == EAGAIN) return true;
        // What the peer has sent before it closed the connection is still to be read.
        output_.clear();
        sent_ = 0;
        return true;
    }
    output_.clear();
    sent_ = 0;
    if (!finishing_) return true;
    end("");
    return false;
}

// One piece at a time: other connections of the event thread must not wait for a long answer.
bool Channel::read() {
    const std::size_t before = input_.size();
    input_.resize(before + piece);
    ssize_t count = 0;
    do {
        count = ::recv(descriptor_, input_.data() + before, piece, MSG_DONTWAIT);
    } while (count < 0 && errno == EINTR);
    const int error = errno;
    input_.resize(before + static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
    if (count == 0) return end("it closed the connection"), false;
    if (count < 0) return error == EAGAIN ? true : (end(std::strerror(error)), false);
    std::size_t at = 0;
    while (input_.size() - at >= frame_head_bytes) {
        const std::size_t bytes = announced_bytes(
            std::span<const std::byte, frame_head_bytes>(input_.data() + at, frame_head_bytes));
        if (bytes > max_bytes_)
            return end(fmt::format("it announces a message of {} bytes; at most {} are valid", bytes,
                                   max_bytes_)),
                   false;
        if (input_.size() - at - frame_head_bytes < bytes) break;
        const auto* const first = input_.data() + at + frame_head_bytes;
        const Frame frame{static_cast<FrameKind>(input_[at]), {first, first + bytes}};
        at += frame_head_bytes + bytes;
        if (work_.frame) {
            const auto work = work_.frame;  // which may end the channel
            work(*this, frame);
        }
        if (descriptor_ < 0) return false;
    }
    input_.erase(input_.begin(), input_.begin() + static_cast<std::ptrdiff_t>(at));
    return true;
}

}  // namespace lapwing::watch
