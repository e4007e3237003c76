#include "watch/messages.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "watch/cbor.hpp"

namespace lapwing::watch {
namespace {

void wait_for(int descriptor, short events, Deadline deadline, int stop) {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now()).count();
    pollfd waiting[] = {{descriptor, events, 0}, {stop, POLLIN, 0}};
    const int ready = ::poll(waiting, std::size(waiting), static_cast<int>(std::max<std::int64_t>(left, 0)));
    if (ready == 0) throw Error(ErrorCode::link, "no answer in time");
    if (ready < 0 && errno != EINTR) throw_system("poll");
    if (ready > 0 && waiting[1].revents != 0) throw Error(ErrorCode::link, "this rank ends");
}

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

std::optional<Frame> FrameReader::read(int descriptor) {
    constexpr std::size_t piece = 64 << 10;
    while (true) {
        const std::size_t had = input_.size();
        std::size_t wanted = frame_head_bytes;
        if (had >= frame_head_bytes) {
            const std::size_t bytes = announced_bytes(std::span(input_).first<frame_head_bytes>());
            if (bytes > max_bytes_)
                throw Error(ErrorCode::link,
                            fmt::format("it announces a message of {} bytes; at most {} are valid", bytes,
                                        max_bytes_));
            wanted += bytes;
            if (had == wanted) {
                Frame frame{static_cast<FrameKind>(input_[0]),
                            {input_.begin() + frame_head_bytes, input_.end()}};
                input_.clear();
                return frame;
            }
        }
        input_.resize(had + std::min(wanted - had, piece));
        const ssize_t count = ::recv(descriptor, input_.data() + had, input_.size() - had, MSG_DONTWAIT);
        const int error = errno;
        input_.resize(had + static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
        if (count == 0) throw Error(ErrorCode::link, "it closed the connection");
        if (count < 0 && error == EAGAIN) return std::nullopt;
        if (count < 0 && error != EINTR) throw Error(ErrorCode::link, std::strerror(error));
    }
}

void send_frame(int descriptor, FrameKind kind, std::span<const std::byte> bytes, Deadline deadline,
                int stop) {
    const auto head = frame_head(kind, bytes.size());
    for (std::span<const std::byte> rest : {std::span<const std::byte>(head), bytes}) {
        while (!rest.empty()) {
            const ssize_t count = ::send(descriptor, rest.data(), rest.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
            if (count >= 0)
                rest = rest.subspan(static_cast<std::size_t>(count));
            else if (errno == EAGAIN)
                wait_for(descriptor, POLLOUT, deadline, stop);
            else if (errno == EPIPE || errno == ECONNRESET)
                return;  // the peer's last frame, which may have the reason, is still to be read
            else if (errno != EINTR)
                throw Error(ErrorCode::link, std::strerror(errno));
        }
    }
}

Frame receive_frame(int descriptor, std::size_t max_bytes, Deadline deadline, int stop) {
    FrameReader reader(max_bytes);
    while (true) {
        if (auto frame = reader.read(descriptor)) return std::move(*frame);
        wait_for(descriptor, POLLIN, deadline, stop);
    }
}

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(JobDescription, job, version, program, ranks, hosts, age, trouble)

std::vector<std::byte> encode(const JobDescription& description) {
    return to_cbor(description);
}

JobDescription decode_description(std::span<const std::byte> bytes) {
    return from_cbor(bytes, "description",
                     [](const auto& json) { return json.template get<JobDescription>(); });
}

std::vector<std::byte> encode(const RankReply& reply) {
    const std::int64_t numbers[] = {reply.rank, reply.snapshot.empty() ? 0 : 1};
    const auto head = std::as_bytes(std::span(numbers));
    const auto rest = reply.snapshot.empty() ? std::as_bytes(std::span(reply.silence))
                                             : std::span<const std::byte>(reply.snapshot);
    std::vector<std::byte> bytes(head.size() + rest.size());
    std::copy(rest.begin(), rest.end(), std::copy(head.begin(), head.end(), bytes.begin()));
    return bytes;
}

RankReply decode_reply(std::span<const std::byte> bytes) {
    constexpr std::size_t head = 2 * sizeof(std::int64_t);
    if (bytes.size() < head) throw Error(ErrorCode::link, "a rank has sent a truncated reply");
    const auto numbers = decode_numbers(bytes.first(head));
    RankReply reply;
    reply.rank = static_cast<int>(numbers[0]);
    const auto rest = bytes.subspan(head);
    if (numbers[1] == 1)
        reply.snapshot.assign(rest.begin(), rest.end());
    else
        reply.silence.assign(reinterpret_cast<const char*>(rest.data()), rest.size());
    return reply;
}

Answer answer_of(const RankReply& reply) {
    Answer answer;
    answer.silence = reply.silence;
    if (reply.snapshot.empty()) return answer;
    try {
        answer.snapshot = decode(reply.snapshot);
    } catch (const Error& error) {
        answer.silence = fmt::format("rank {}: {}", reply.rank, error.what());
    }
    return answer;
}

std::vector<std::byte> encode_numbers(std::span<const std::int64_t> numbers) {
    const auto bytes = std::as_bytes(numbers);
    return {bytes.begin(), bytes.end()};
}

std::vector<std::int64_t> decode_numbers(std::span<const std::byte> bytes) {
    if (bytes.size() % sizeof(std::int64_t) != 0)
        throw Error(ErrorCode::link, "a rank has sent a truncated message");
    std::vector<std::int64_t> numbers(bytes.size() / sizeof(std::int64_t));
    if (!numbers.empty()) std::memcpy(numbers.data(), bytes.data(), bytes.size());
    return numbers;
}

}  // namespace lapwing::watch
