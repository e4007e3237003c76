#include "mpi/calls/wait_clock.hpp"

#include "base/clock.hpp"
#include "mpi/job/runtime.hpp"
#include "mpi/native/entry.hpp"
#include "mpi/requests/request.hpp"
#include "mpi/requests/timeline.hpp"

namespace lapwing {

WaitClock::WaitClock(trace::Call call, std::span<Request* const> requests) : call_(call) {
    if (!runtime.measures || requests.empty()) return;
    requests_ = requests;
    const Entry entry;
    began_ = nanoseconds();
    first_ = timeline::number(*requests[0]);
    collective_ = requests[0]->collective;
    for (Request* request : requests) request->waiting_since = began_;
    for (const Request* request : requests.subspan(1)) others_.push_back(request->collective);
}

void WaitClock::stop() {
    if (requests_.empty()) return;
    const Entry entry;
    stop_inside_entry();
}

void WaitClock::stop_inside_entry() {
    if (requests_.empty()) return;
    // A request that has just completed has read the clock already.
    const bool just = requests_.size() == 1 && requests_[0]->completed >= began_;
    const std::uint64_t end = just ? requests_[0]->completed : nanoseconds();
    const std::uint64_t spent = end - began_;
    timeline::called(call_, began_, end, first_, requests_.size());
    for (std::size_t i = 0; i < requests_.size(); ++i) {
        requests_[i]->waited += spent;
        requests_[i]->waiting_since = 0;
        const Collective collective = i == 0 ? collective_ : others_[i - 1];
        runtime.report.of(collective).wait_time += spent / requests_.size();
    }
    requests_ = {};
}

}  // namespace lapwing
