#include "watch/collection.hpp"

#include <fmt/format.h>

#include <utility>

namespace lapwing::watch {
namespace {

using std::chrono::milliseconds;

// Questions at a time. One that is not answered soon makes room for another: many ranks may be silent.
constexpr int max_fresh = 64;
constexpr int max_open = 256;
constexpr milliseconds soon{250};
// Of all answers: a job of 4096 ranks with many communicators must not fill the memory of one.
constexpr std::size_t max_bytes = std::size_t{512} << 20;

}  // namespace

std::shared_ptr<Collection> Collection::start(Ranks& ranks, EventLoop& loop, milliseconds limit, Work work) {
    std::shared_ptr<Collection> collection(new Collection(ranks, loop, limit, std::move(work)));
    // By later work: the caller has the collection before its last reply.
    loop.post([collection] { collection->ask_more(); });
    return collection;
}

Collection::Collection(Ranks& ranks, EventLoop& loop, milliseconds limit, Work work)
    : ranks_(ranks), loop_(loop), limit_(limit), work_(std::move(work)) {}

void Collection::ask_more() {
    while (next_ < ranks_.count() && fresh_ < max_fresh && open_ < max_open) ask(next_++);
    if (next_ == ranks_.count() && open_ == 0) {
        ++next_;  // once
        find_states();
    }
}

void Collection::ask(int rank) {
    if (rank == ranks_.self()) {
        mates_[ranks_.member(rank).host] = rank;
        return work_.reply(work_.own());
    }
    if (bytes_ > max_bytes) {
        Silent& silent = silent_.emplace_back();
        silent.rank = rank;
        silent.why = "the other ranks' answers fill the memory that a report may use";
        return;
    }
    ++open_;
    ++fresh_;
    auto counted = std::make_shared<bool>(true);
    const auto uncount = [weak = weak_from_this(), counted] {
        const auto alive = weak.lock();
        if (alive != nullptr && std::exchange(*counted, false)) --alive->fresh_;
        return alive;
    };
    const EventLoop::Timer timer = loop_.post_after(soon, [uncount] {
        if (const auto alive = uncount()) alive->ask_more();
    });
    ranks_.ask(rank, FrameKind::ask_snapshot, {}, limit_,
               [uncount, rank, timer](const Frame* answer, const Ranks::Failure& failure) {
                   const auto alive = uncount();
                   if (alive == nullptr) return;
                   alive->loop_.cancel(timer);
                   --alive->open_;
                   alive->answered(rank, answer, failure);
                   // By later work: answers that come at once must not nest.
                   alive->loop_.post([alive] { alive->ask_more(); });
               });
}

void Collection::answered(int rank, const Frame* answer, const Ranks::Failure& failure) {
    if (answer == nullptr) {
        silent_.push_back({rank, failure.refused, failure.why, ProcessState::unknown});
        return;
    }
    mates_[ranks_.member(rank).host] = rank;
    bytes_ += answer->bytes.size();
    work_.reply({rank, answer->bytes, ""});
}

// Another rank of a silent rank's host can read the state of its process.
void Collection::find_states() {
    std::map<int, std::vector<std::size_t>> by_mate;
    for (std::size_t i = 0; i < silent_.size(); ++i) {
        Silent& silent = silent_[i];
        const Member& member = ranks_.member(silent.rank);
        const auto mate = mates_.find(member.host);
        if (ranks_.on_this_host(silent.rank))
            silent.state = state_of(member.process);
        else if (mate != mates_.end())
            by_mate[mate->second].push_back(i);
    }
    asked_states_ = 1;
    for (const auto& [mate, silent] : by_mate) ask_states(silent, mate);
    if (--asked_states_ == 0) finish();
}

void Collection::ask_states(const std::vector<std::size_t>& silent, int mate) {
    ++asked_states_;
    std::vector<std::int64_t> ranks;
    for (const std::size_t i : silent) ranks.push_back(silent_[i].rank);
    ranks_.ask(mate, FrameKind::ask_states, encode_numbers(ranks), limit_,
               [weak = weak_from_this(), silent](const Frame* answer, const Ranks::Failure&) {
                   const auto alive = weak.lock();
                   if (alive == nullptr) return;
                   if (answer != nullptr && answer->bytes.size() == silent.size()) {
                       for (std::size_t i = 0; i < silent.size(); ++i)
                           alive->silent_[silent[i]].state = static_cast<ProcessState>(answer->bytes[i]);
                   }
                   if (--alive->asked_states_ == 0) alive->finish();
               });
}

void Collection::finish() {
    for (const Silent& silent : silent_) work_.reply({silent.rank, {}, sentence(silent)});
    if (const auto done = std::exchange(work_.done, {})) done();
}

std::string Collection::sentence(const Silent& silent) const {
    const std::string who = ranks_.describe(silent.rank);
    const int pid = ranks_.member(silent.rank).process.pid;
    const std::string in_time =
        fmt::format("{} does not answer within {} s", who, static_cast<double>(limit_.count()) / 1000);
    switch (silent.state) {
        case ProcessState::stopped:
            return fmt::format("{} is stopped by a signal; `kill -CONT {}` on its host continues it", who,
                               pid);
        case ProcessState::traced:
            return fmt::format("{} is stopped by a debugger", who);
        case ProcessState::ended:
            return fmt::format("{} has ended: its process does not exist any more", who);
        case ProcessState::blocked:
            return fmt::format(
                "{} is blocked inside the kernel, for example by a disk or a network file system", who);
        case ProcessState::running:
            if (silent.refused) return fmt::format("{} has called MPI_Finalize", who);
            if (!silent.why.empty()) return fmt::format("{} does not answer: {}", who, silent.why);
            return fmt::format("{} although its process runs", in_time);
        case ProcessState::unknown:
            break;
    }
    if (silent.refused) return fmt::format("{} has called MPI_Finalize, or its process has ended", who);
    if (!silent.why.empty()) return fmt::format("{} does not answer: {}", who, silent.why);
    return fmt::format("{}: its process is stopped or has ended, or its host is unreachable", in_time);
}

}  // namespace lapwing::watch
