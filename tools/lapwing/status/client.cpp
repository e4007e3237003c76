#include "lapwing/status/client.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <map>

#include "base/error.hpp"
#include "watch/local_socket.hpp"

namespace lapwing::tool {
namespace {

using std::chrono::milliseconds;

// A rank answers within milliseconds, unless its process is stopped: then the next one is asked.
constexpr milliseconds hello_limit{1'000};
// Of the time between two ranks' answers: more than the watch waits for one of them.
constexpr milliseconds answer_limit{30'000};

void wait_for(int descriptor, short events, std::chrono::steady_clock::time_point deadline) {
    const auto left = std::chrono::ceil<milliseconds>(deadline - std::chrono::steady_clock::now()).count();
    pollfd waiting{descriptor, events, 0};
    const int ready = ::poll(&waiting, 1, static_cast<int>(std::max<std::int64_t>(left, 0)));
    if (ready == 0) throw Error(ErrorCode::link, "no answer in time");
    if (ready < 0 && errno != EINTR) throw_system("poll");
}

void receive_all(int descriptor, std::byte* bytes, std::size_t count,
                 std::chrono::steady_clock::time_point deadline) {
    while (count > 0) {
        const ssize_t got = ::recv(descriptor, bytes, count, MSG_DONTWAIT);
        if (got > 0) {
            bytes += got;
            count -= static_cast<std::size_t>(got);
        } else if (got == 0) {
            throw Error(ErrorCode::link, "the rank closed the connection: it has ended");
        } else if (errno == EAGAIN || errno == EINTR) {
            wait_for(descriptor, POLLIN, deadline);
        } else {
            throw_system("recv");
        }
    }
}

}  // namespace

std::vector<FoundJob> jobs_here() {
    std::map<std::string, FoundJob> jobs;
    for (const watch::LocalRank& rank : watch::local_ranks()) {
        FoundJob& job = jobs[rank.job];
        job.name = rank.job;
        const tcp::Socket socket = watch::connect_locally(watch::local_name(rank.job, rank.rank));
        if (!socket) {
            // Its queue is full, as where its process is stopped; or the rank has ended meanwhile.
            if (errno == EAGAIN) job.ranks.push_back(rank.rank);
            continue;
        }
        const auto peer = watch::peer_of(socket.get());
        if (!peer) continue;
        job.ranks.push_back(rank.rank);
        job.user = peer->user;
        job.pids.push_back(peer->pid);
    }
    std::vector<FoundJob> found;
    for (auto& [name, job] : jobs) {
        if (job.ranks.empty()) continue;
        std::sort(job.ranks.begin(), job.ranks.end());
        found.push_back(std::move(job));
    }
    return found;
}

RankClient::RankClient(const FoundJob& job) {
    std::string why;
    for (const int rank : job.ranks) {
        socket_ = watch::connect_locally(watch::local_name(job.name, rank));
        if (!socket_) continue;
        try {
            send(socket_.get(), watch::FrameKind::hello);
            const watch::Frame answer = receive(socket_.get(), Clock::now() + hello_limit);
            if (answer.kind == watch::FrameKind::hello) {
                description_ = watch::decode_description(answer.bytes);
                return;
            }
        } catch (const Error& error) {
            if (error.code() == ErrorCode::unsupported) throw;
            why = error.what();
        }
    }
    throw Error(ErrorCode::link,
                fmt::format("no rank of job {} on this host answers: {}; are its processes stopped?",
                            job.name, why.empty() ? "they have ended" : why));
}

void RankClient::send(int descriptor, watch::FrameKind kind) {
    const auto head = watch::frame_head(kind, 0);
    // Fits an empty socket. A job of another user may have closed it: its reason is read then.
    if (::send(descriptor, head.data(), head.size(), MSG_NOSIGNAL) < 0 && errno != EPIPE)
        throw_system("send");
}

watch::Frame RankClient::receive(int descriptor, Clock::time_point deadline) {
    std::array<std::byte, watch::frame_head_bytes> head{};
    receive_all(descriptor, head.data(), head.size(), deadline);
    const std::size_t bytes = watch::announced_bytes(head);
    if (bytes > watch::max_answer_bytes + 64)
        throw Error(ErrorCode::link, "the answer is not one of this version of Lapwing");
    watch::Frame frame{static_cast<watch::FrameKind>(head[0]), std::vector<std::byte>(bytes)};
    receive_all(descriptor, frame.bytes.data(), bytes, deadline);
    if (frame.kind == watch::FrameKind::refused)
        throw Error(ErrorCode::unsupported,
                    std::string(reinterpret_cast<const char*>(frame.bytes.data()), frame.bytes.size()));
    return frame;
}

std::vector<watch::Answer> RankClient::collect() {
    std::vector<watch::Answer> answers(static_cast<std::size_t>(std::max(description_.ranks, 0)));
    send(socket_.get(), watch::FrameKind::collect);
    while (true) {
        const watch::Frame frame = receive(socket_.get(), Clock::now() + answer_limit);
        if (frame.kind == watch::FrameKind::done) return answers;
        if (frame.kind != watch::FrameKind::rank) continue;
        const watch::RankReply reply = watch::decode_reply(frame.bytes);
        if (reply.rank < 0 || static_cast<std::size_t>(reply.rank) >= answers.size())
            throw Error(ErrorCode::link, "an answer names a rank that the job does not have");
        answers[static_cast<std::size_t>(reply.rank)] = watch::answer_of(reply);
    }
}

}  // namespace lapwing::tool
