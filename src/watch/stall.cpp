#include "watch/stall.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "task/mpi_function.hpp"
#include "watch/calls.hpp"

namespace lapwing::watch {
namespace {

using std::chrono::nanoseconds;
using namespace std::chrono_literals;

// What the collectives in flight tell of a rank's progress.
struct InFlight {
    std::string positions;                // of all lists: that any of them advances is progress
    std::optional<std::uint64_t> oldest;  // age of the oldest collective, for programs that test in a loop
};
InFlight in_flight(const RankSnapshot& snapshot) {
    InFlight found;
    for (const CommunicatorSnapshot& communicator : snapshot.communicators) {
        for (const CollectiveCall& call : communicator.recent) {
            if (!call.in_flight) continue;
            if (!call.position.engine.empty())
                found.positions +=
                    fmt::format("{:x}.{}.{} ", communicator.id[0], call.number, call.position.task);
            if (call.form != Form::persistent_init)
                found.oldest = std::max(found.oldest.value_or(0), call.age);
        }
    }
    return found;
}

}  // namespace

StallClock::Finding StallClock::check(const RankSnapshot& snapshot, Clock::time_point now,
                                      Clock::time_point due) {
    const bool suspended = now - due > std::max<nanoseconds>(limit_ / 4, 1s);
    const InFlight collectives = in_flight(snapshot);
    std::vector<Wait> found;
    const auto add = [&](const std::string& function, std::uint64_t age) {
        const auto begin = now - nanoseconds(static_cast<std::int64_t>(age));
        found.push_back({function, begin, collectives.positions, begin});
    };
    bool tests = polls(snapshot);
    for (const CurrentCall& call : snapshot.current) {
        if (MpiFunction::of(call.function).polls)
            tests = true;
        else
            add(call.function, call.age);
    }
    // A program that tests again and again waits, since this clock first saw the collective and the tests.
    if (tests && collectives.oldest) {
        add("MPI_Test", *collectives.oldest);
        found.back().since = now;
    }
    Finding finding;
    finding.next = limit_ / 2;
    for (Wait& wait : found) {
        // The journal reads its clock a moment before this function is called.
        const auto same = std::ranges::find_if(waits_, [&](const Wait& old) {
            return old.function == wait.function && std::chrono::abs(old.begin - wait.begin) < 50ms;
        });
        if (same != waits_.end()) {
            const bool advanced = same->progress != wait.progress;
            wait.since = advanced ? now : same->since;
            if (!advanced) wait.reported = same->reported;
        }
        if (suspended) wait.since = now;
        const auto waited = now - wait.since;
        if (waited < limit_) {
            finding.next = std::clamp<nanoseconds>(limit_ - waited, 10ms, finding.next);
        } else if (!wait.reported || now - *wait.reported >= repeat_) {
            wait.reported = now;
            finding.stalled_since = std::min(wait.since, finding.stalled_since.value_or(wait.since));
        }
    }
    waits_ = std::move(found);
    return finding;
}

}  // namespace lapwing::watch
