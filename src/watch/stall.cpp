#include "watch/stall.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "task/mpi_function.hpp"
#include "watch/calls.hpp"
#include "watch/diagnosis.hpp"

namespace lapwing::watch {
namespace {

using std::chrono::nanoseconds;
using namespace std::chrono_literals;

// The positions of all lists in flight: that any of them advances is progress.
std::string positions(const RankSnapshot& snapshot) {
    std::string text;
    for (const CommunicatorSnapshot& communicator : snapshot.communicators)
        for (const CollectiveCall& call : communicator.recent)
            if (call.in_flight && call.position)
                text += fmt::format("{:x}.{}.{} ", communicator.id[0], call.number, call.position->task);
    return text;
}

// The oldest collective in flight, for programs that test in a loop.
std::optional<std::uint64_t> oldest_in_flight(const RankSnapshot& snapshot) {
    std::optional<std::uint64_t> oldest;
    for (const CommunicatorSnapshot& communicator : snapshot.communicators)
        for (const CollectiveCall& call : communicator.recent)
            if (call.in_flight && call.form != Form::persistent_init)
                oldest = std::max(oldest.value_or(0), call.age);
    return oldest;
}

}  // namespace

StallClock::Finding StallClock::check(const RankSnapshot& snapshot, Clock::time_point now,
                                      Clock::time_point due) {
    const bool suspended = now - due > std::max<nanoseconds>(limit_ / 4, 1s);
    const std::string progress = positions(snapshot);
    std::vector<Wait> found;
    const auto add = [&](const std::string& function, std::uint64_t age) {
        const auto begin = now - nanoseconds(static_cast<std::int64_t>(age));
        found.push_back({function, begin, progress, begin});
    };
    bool tests = polls(snapshot);
    for (const CurrentCall& call : snapshot.current) {
        if (MpiFunction::of(call.function).polls)
            tests = true;
        else
            add(call.function, call.age);
    }
    // A program that tests again and again waits, since this clock first saw the collective and the tests.
    if (const auto oldest = oldest_in_flight(snapshot); tests && oldest) {
        add("MPI_Test", *oldest);
        found.back().since = now;
    }
    Finding finding;
    finding.next = limit_ / 2;
    for (Wait& wait : found) {
        // The journal reads its clock a moment before this function is called.
        const auto same = std::find_if(waits_.begin(), waits_.end(), [&](const Wait& old) {
            return old.function == wait.function && std::chrono::abs(old.begin - wait.begin) < 50ms;
        });
        if (same != waits_.end()) {
            const bool advanced = same->progress != wait.progress;
            wait.since = advanced ? now : same->since;
            wait.reported = same->reported && !advanced;
        }
        if (suspended) wait.since = now;
        const auto waited = now - wait.since;
        if (waited < limit_) {
            finding.next = std::clamp<nanoseconds>(limit_ - waited, 10ms, finding.next);
        } else if (!wait.reported) {
            wait.reported = true;
            finding.stalled_since = std::min(wait.since, finding.stalled_since.value_or(wait.since));
        }
    }
    waits_ = std::move(found);
    return finding;
}

bool StallReport::print(const std::vector<RankReply>& replies) {
    std::vector<Answer> answers(replies.size());
    for (const RankReply& reply : replies) answers[static_cast<std::size_t>(reply.rank)] = answer_of(reply);
    const std::vector<Finding> findings = diagnose(answers);
    std::set<std::pair<int, std::vector<int>>> found;
    for (const Finding& finding : findings) found.emplace(static_cast<int>(finding.kind), finding.ranks);
    if (found.empty()) return false;
    if (std::ranges::includes(found_, found)) return true;
    found_ = std::move(found);
    ++reports_;
    std::string text = fmt::format("ranks have waited for {} s without progress (report {} of at most {})\n",
                                   static_cast<double>(limit_.count()) / 1000, reports_, max_reports);
    text += in_words(answers, findings);
    if (!text.ends_with('\n')) text += '\n';
    text +=
        "The job continues. If a rank computes for this long, the wait is load imbalance, not an error. "
        "`lapwing status` shows the current state; LAPWING_STALL=0 turns these reports off.";
    print_(text);
    return true;
}

}  // namespace lapwing::watch
