#include "watch/ranks.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/error.hpp"
#include "watch/local_socket.hpp"

namespace lapwing::watch {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds pause_of_full_queue{10};

}  // namespace

struct Ranks::Opening {
    int rank;
    std::function<void(Opened)> opened;
    std::shared_ptr<Connections> connections;  // over TCP
    EventLoop::Timer limit;
    EventLoop::Timer retry;
};

struct Ranks::Question {
    FrameKind kind;
    std::vector<std::byte> bytes;
    Done done;
    std::shared_ptr<Channel> channel;
    EventLoop::Timer limit;
};

Ranks::Ranks(EventLoop& loop, std::vector<Member> members, int self, tcp::Endpoint* endpoint,
             std::string why_not, bool tcp_only)
    : loop_(loop),
      members_(std::move(members)),
      self_(self),
      endpoint_(endpoint),
      why_not_(std::move(why_not)),
      tcp_only_(tcp_only),
      job_name_(fmt::format("{:08x}", members_.front().job)) {}

std::string Ranks::describe(int rank) const {
    const Member& one = member(rank);
    const std::string host(one.host_name, ::strnlen(one.host_name, sizeof one.host_name));
    return fmt::format("rank {} ({}, pid {})", rank, host, one.process.pid);
}

std::vector<std::string> Ranks::hosts() const {
    std::vector<std::string> names;
    std::set<std::uint64_t> known;
    for (const Member& one : members_)
        if (known.insert(one.host).second)
            names.emplace_back(one.host_name, ::strnlen(one.host_name, sizeof one.host_name));
    return names;
}

void Ranks::open(int rank, milliseconds limit, std::function<void(Opened)> opened) {
    auto opening = std::make_shared<Opening>();
    opening->rank = rank;
    opening->opened = std::move(opened);
    openings_.insert(opening);
    opening->limit = loop_.post_after(limit, [this, weak = std::weak_ptr(opening), limit] {
        const auto alive = weak.lock();
        if (alive != nullptr && openings_.contains(alive))
            end(alive, {.why = fmt::format("no connection within {} ms", limit.count())});
    });
    if (is_local(rank))
        open_locally(opening);
    else
        open_by_tcp(opening);
}

void Ranks::open_locally(const std::shared_ptr<Opening>& opening) {
    if (!openings_.contains(opening)) return;
    auto socket = std::make_shared<tcp::Socket>(connect_locally(local_name(job_name_, opening->rank)));
    const int error = errno;
    if (!*socket && error == EAGAIN) {
        opening->retry = loop_.post_after(pause_of_full_queue, [this, weak = std::weak_ptr(opening)] {
            if (const auto alive = weak.lock()) open_locally(alive);
        });
        return;
    }
    if (!*socket) return end(opening, {.why = std::strerror(error), .refused = error == ECONNREFUSED});
    const auto peer = peer_of(socket->get());
    if (!peer || peer->user != ::geteuid())
        return end(opening, {.why = fmt::format("its socket belongs to {}",
                                                peer ? user_name(peer->user) : "an unknown user")});
    const int descriptor = socket->get();
    end(opening, {descriptor, [socket] { socket->reset(); }, "", false});
}

void Ranks::open_by_tcp(const std::shared_ptr<Opening>& opening) {
    if (endpoint_ == nullptr)
        return end(opening, {.why = fmt::format("ranks of other hosts cannot be asked: {}", why_not_)});
    opening->connections = endpoint_->call(service, opening->rank);
    opening->connections->on_change([this, weak = std::weak_ptr(opening)] {
        const auto alive = weak.lock();
        if (alive == nullptr || !openings_.contains(alive)) return;
        try {
            const int descriptor = alive->connections->descriptor(1, 0);
            if (descriptor < 0) return;
            auto connections = std::exchange(alive->connections, nullptr);
            connections->on_change({});
            end(alive, {descriptor, [connections]() mutable { connections.reset(); }, "", false});
        } catch (const Error& error) {
            end(alive, {.why = error.what()});
        }
    });
}

void Ranks::end(const std::shared_ptr<Opening>& opening, Opened opened) {
    openings_.erase(opening);
    loop_.cancel(opening->limit);
    loop_.cancel(opening->retry);
    const auto work = std::exchange(opening->opened, {});
    // By later work: this may be the connections' own.
    if (opening->connections != nullptr)
        loop_.post([connections = std::exchange(opening->connections, nullptr)] {});
    if (work) work(std::move(opened));
}

void Ranks::ask(int rank, FrameKind kind, std::span<const std::byte> bytes, milliseconds limit, Done done) {
    auto question = std::make_shared<Question>();
    question->kind = kind;
    question->bytes.assign(bytes.begin(), bytes.end());
    question->done = std::move(done);
    questions_.insert(question);
    question->limit = loop_.post_after(limit, [this, weak = std::weak_ptr(question)] {
        const auto alive = weak.lock();
        if (alive != nullptr && questions_.contains(alive)) end(alive, nullptr, {});
    });
    open(rank, limit, [this, weak = std::weak_ptr(question)](Opened opened) {
        const auto alive = weak.lock();
        if (alive == nullptr || !questions_.contains(alive)) {
            if (opened.release) opened.release();
            return;
        }
        if (opened.descriptor < 0) return end(alive, nullptr, {opened.why, opened.refused});
        Channel::Work work;
        work.frame = [this, weak](Channel&, const Frame& frame) {
            const auto asked = weak.lock();
            if (asked == nullptr || !questions_.contains(asked)) return;
            if (frame.kind == FrameKind::refused)
                return end(asked, nullptr,
                           {{reinterpret_cast<const char*>(frame.bytes.data()), frame.bytes.size()}, false});
            end(asked, &frame, {});
        };
        work.end = [this, weak](Channel&, const std::string& why) {
            const auto asked = weak.lock();
            if (asked != nullptr && questions_.contains(asked)) end(asked, nullptr, {why, false});
        };
        alive->channel = Channel::open(loop_, opened.descriptor, std::move(opened.release), max_answer_bytes,
                                       std::move(work));
        alive->channel->send(alive->kind, alive->bytes);
    });
}

void Ranks::end(const std::shared_ptr<Question>& question, const Frame* answer, const Failure& failure) {
    questions_.erase(question);
    loop_.cancel(question->limit);
    const auto done = std::exchange(question->done, {});
    if (done) done(answer, failure);
    // By later work: the channel may be running.
    if (question->channel != nullptr) {
        question->channel->close();
        loop_.post([channel = std::exchange(question->channel, nullptr)] {});
    }
}

void Ranks::close() {
    for (const auto& opening : std::exchange(openings_, {})) {
        opening->opened = {};
        loop_.cancel(opening->limit);
        loop_.cancel(opening->retry);
        opening->connections.reset();
    }
    for (const auto& question : std::exchange(questions_, {})) {
        question->done = {};
        loop_.cancel(question->limit);
        if (question->channel != nullptr) question->channel->close();
    }
}

}  // namespace lapwing::watch
