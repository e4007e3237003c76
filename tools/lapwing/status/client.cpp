#include "lapwing/status/client.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <map>

#include "base/error.hpp"
#include "watch/local_socket.hpp"

namespace lapwing::tool {
namespace {

// A rank answers within milliseconds, unless its process is stopped: then the next one is asked.
constexpr std::chrono::milliseconds hello_limit{1'000};
// Of the time between two ranks' answers: more than the watch waits for one of them.
constexpr std::chrono::milliseconds answer_limit{30'000};

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
            const auto deadline = Clock::now() + hello_limit;
            watch::send_frame(socket_.get(), watch::FrameKind::hello, {}, deadline);
            const watch::Frame answer = receive(deadline);
            if (answer.kind == watch::FrameKind::hello) {
                description_ = watch::decode_description(answer.bytes);
                return;
            }
        } catch (const Error& error) {
            if (error.code() == ErrorCode::unsupported) throw;
            why = error.what();
        }
    }
    throw Error(ErrorCode::link, fmt::format("no rank of job {} on this host answers: {}", job.name,
                                             why.empty() ? "all have ended" : why + "; they may be stopped"));
}

watch::Frame RankClient::receive(Clock::time_point deadline) {
    // A reply is a snapshot with a head.
    watch::Frame frame = watch::receive_frame(socket_.get(), watch::max_answer_bytes + 64, deadline);
    if (frame.kind == watch::FrameKind::refused)
        throw Error(ErrorCode::unsupported,
                    std::string(reinterpret_cast<const char*>(frame.bytes.data()), frame.bytes.size()));
    return frame;
}

std::vector<watch::Answer> RankClient::collect() {
    std::vector<watch::Answer> answers(static_cast<std::size_t>(std::max(description_.ranks, 0)));
    watch::send_frame(socket_.get(), watch::FrameKind::collect, {}, Clock::now() + answer_limit);
    for (std::size_t replies = 0; replies < answers.size(); ++replies) {
        const watch::RankReply reply = watch::decode_reply(receive(Clock::now() + answer_limit).bytes);
        if (reply.rank < 0 || static_cast<std::size_t>(reply.rank) >= answers.size())
            throw Error(ErrorCode::link, "an answer names a rank that the job does not have");
        answers[static_cast<std::size_t>(reply.rank)] = watch::answer_of(reply);
    }
    return answers;
}

}  // namespace lapwing::tool
