#include "watch/ranks.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sodium.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "base/error.hpp"
#include "links/tcp/addresses.hpp"
#include "watch/local_socket.hpp"

namespace lapwing::watch {
namespace {

using std::chrono::milliseconds;

constexpr std::size_t max_open = 256;  // questions at a time
// Of all answers: a job of 4096 ranks with many communicators must not fill the memory of one.
constexpr std::size_t max_bytes = std::size_t{512} << 20;
// Connections that are being made are examined again after this time.
constexpr milliseconds connecting{5};

}  // namespace

struct Ranks::Question {
    int rank;
    Deadline deadline;
    tcp::Socket local{};
    std::unique_ptr<Connections> remote{};
    int descriptor = -1;   // of one of these
    bool refused = false;  // nothing listens
    FrameReader reader{max_answer_bytes};
};

struct Ranks::Silent {
    int rank;
    Failure failure;
    ProcessState state = ProcessState::unknown;
};

Member own_member() {
    Member member;
    member.process = this_process();
    member.host = tcp::host_number();
    tcp::host_name().copy(member.host_name, sizeof member.host_name - 1);
    ::randombytes_buf(&member.job, sizeof member.job);
    return member;
}

Ranks::Ranks(std::vector<Member> members, int self, tcp::Endpoint* endpoint, std::string why_not,
             bool tcp_only)
    : members_(std::move(members)),
      self_(self),
      endpoint_(endpoint),
      why_not_(std::move(why_not)),
      tcp_only_(tcp_only),
      job_name_(fmt::format("{:08x}", members_.front().job)) {}

std::string Ranks::describe(int rank) const {
    const Member& one = member(rank);
    return fmt::format("rank {} ({}, pid {})", rank, one.host_name, one.process.pid);
}

std::vector<std::string> Ranks::hosts() const {
    std::vector<std::string> names;
    std::set<std::uint64_t> known;
    for (const Member& one : members_)
        if (known.insert(one.host).second) names.emplace_back(one.host_name);
    return names;
}

// Begins or continues to connect; returns whether the rank is connected. Throws Error.
bool Ranks::connect(Question& question) const {
    if (tcp_only_ || !on_this_host(question.rank)) {
        if (endpoint_ == nullptr)
            throw Error(ErrorCode::link, "ranks of other hosts cannot be queried: {}", why_not_);
        if (question.remote == nullptr) question.remote = endpoint_->call(service, question.rank);
        question.descriptor = question.remote->descriptor(1, 0);
        return question.descriptor >= 0;
    }
    question.local = connect_locally(local_name(job_name_, question.rank));
    if (!question.local) {
        if (errno == EAGAIN) return false;  // too many connections wait
        question.refused = errno == ECONNREFUSED;
        throw Error(ErrorCode::link, std::strerror(errno));
    }
    const auto peer = peer_of(question.local.get());
    if (!peer || peer->user != ::geteuid())
        throw Error(ErrorCode::link, "its socket belongs to {}",
                    peer ? user_name(peer->user) : "an unknown user");
    question.descriptor = question.local.get();
    return true;
}

void Ranks::ask(std::span<const int> ranks, FrameKind kind, const Patience& patience,
                const Answered& answered) const {
    std::vector<Question> open;
    std::size_t next = 0;
    std::size_t received = 0;
    // Returns whether the question is over: there is an answer or a failure.
    const auto advance = [&](Question& question, std::optional<Frame>& answer, Failure& failure) {
        try {
            const bool late = std::chrono::steady_clock::now() >= question.deadline;
            if (question.descriptor < 0 && connect(question))
                send_frame(question.descriptor, kind, {}, question.deadline, patience.stop);
            if (question.descriptor >= 0) answer = question.reader.read(question.descriptor);
            if (answer && answer->kind == FrameKind::refused) throw Error(ErrorCode::link, answer->text());
            return late || answer;
        } catch (const Error& error) {
            answer.reset();
            failure = {error.what(), question.refused};
            return true;
        }
    };
    while (next < ranks.size() || !open.empty()) {
        while (next < ranks.size() && open.size() < max_open && received <= max_bytes)
            open.push_back({ranks[next++], std::chrono::steady_clock::now() + patience.limit});
        for (; next < ranks.size() && received > max_bytes; ++next)
            answered(ranks[next], nullptr,
                     {fmt::format("the report reached its limit of {} MiB", max_bytes >> 20)});
        std::vector<pollfd> waiting{{patience.stop, POLLIN, 0}};
        Deadline wake = Deadline::max();
        std::erase_if(open, [&](Question& question) {
            std::optional<Frame> answer;
            Failure failure;
            if (advance(question, answer, failure)) {
                if (answer) received += answer->bytes.size();
                answered(question.rank, answer ? &*answer : nullptr, failure);
                return true;
            }
            wake = std::min(wake, question.deadline);
            if (question.descriptor >= 0)
                waiting.push_back({question.descriptor, POLLIN, 0});
            else
                wake = std::min(wake, std::chrono::steady_clock::now() + connecting);
            return false;
        });
        if (open.empty()) continue;
        ::poll(waiting.data(), waiting.size(), time_left(wake));
        if (waiting.front().revents != 0) throw Error(ErrorCode::link, "this rank ends");
    }
}

void Ranks::collect(const Patience& patience, const std::function<void(RankSnapshot)>& reply) const {
    std::vector<int> others;
    for (int rank = 0; rank < count(); ++rank)
        if (rank != self_) others.push_back(rank);
    std::map<std::uint64_t, int> mates;  // by host: a rank that has answered
    std::vector<Silent> silent;
    // Read when all have come: meanwhile the others would wait, and seem silent.
    std::vector<std::pair<int, std::vector<std::byte>>> answers;
    ask(others, FrameKind::snapshot, patience, [&](int rank, const Frame* answer, const Failure& failure) {
        if (answer == nullptr) {
            silent.push_back({rank, failure});
            return;
        }
        mates[member(rank).host] = rank;
        answers.emplace_back(rank, answer->bytes);
    });
    for (auto& [rank, bytes] : answers) {
        RankSnapshot snapshot;
        try {
            snapshot = decode(std::exchange(bytes, {}));
        } catch (const Error& error) {
            snapshot.silence = fmt::format("rank {}: {}", rank, error.what());
        }
        snapshot.rank = rank;
        reply(std::move(snapshot));
    }
    // Another rank of a silent rank's host can read the state of its process.
    std::set<int> asked;
    for (Silent& one : silent) {
        const auto mate = mates.find(member(one.rank).host);
        if (on_this_host(one.rank))
            one.state = state_of(member(one.rank).process);
        else if (mate != mates.end())
            asked.insert(mate->second);
    }
    ask(std::vector<int>(asked.begin(), asked.end()), FrameKind::states, patience,
        [&](int mate, const Frame* answer, const Failure&) {
            if (answer == nullptr || answer->bytes.size() != members_.size()) return;
            for (Silent& one : silent)
                if (member(one.rank).host == member(mate).host)
                    one.state = static_cast<ProcessState>(answer->bytes[static_cast<std::size_t>(one.rank)]);
        });
    for (const Silent& one : silent) {
        RankSnapshot snapshot;
        snapshot.rank = one.rank;
        snapshot.silence = sentence(one, patience.limit);
        reply(std::move(snapshot));
    }
}

std::vector<std::byte> Ranks::states() const {
    std::vector<std::byte> found;
    for (int rank = 0; rank < count(); ++rank)
        found.push_back(static_cast<std::byte>(on_this_host(rank) ? state_of(member(rank).process)
                                                                  : ProcessState::unknown));
    return found;
}

std::string Ranks::sentence(const Silent& silent, milliseconds limit) const {
    const std::string who = describe(silent.rank);
    const Failure& failure = silent.failure;
    switch (silent.state) {
        case ProcessState::stopped:
            return fmt::format("{} is stopped by a signal; `kill -CONT {}` on its host continues it", who,
                               member(silent.rank).process.pid);
        case ProcessState::traced:
            return fmt::format("{} is stopped by a debugger", who);
        case ProcessState::ended:
            return fmt::format("{} has ended: its process no longer exists", who);
        case ProcessState::blocked:
            return fmt::format(
                "{} is blocked inside the kernel, for example by a disk or a network file system", who);
        case ProcessState::running:
        case ProcessState::unknown:
            break;
    }
    const bool runs = silent.state == ProcessState::running;
    if (failure.refused)
        return fmt::format(
            "{} has called MPI_Finalize, {}", who,
            runs ? "or its watch could not start" : "its watch could not start, or its process has ended");
    if (!failure.why.empty()) return fmt::format("{} does not answer: {}", who, failure.why);
    return fmt::format("{} does not answer within {} s{}", who, static_cast<double>(limit.count()) / 1000,
                       runs ? " although its process runs"
                            : ": its process is stopped or has ended, or its host is unreachable");
}

}  // namespace lapwing::watch
