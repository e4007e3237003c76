// Gives lanes to runs. A lane belongs to one run at a time, because the operations of two runs on one
// connection would have no order. A run whose lane is in use waits in its queue.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "engines/kernel/run.hpp"

namespace lapwing::kernel {

class LaneQueue {
  public:
    // Channels use the lanes below `shared` in turn. Each further lane belongs to one persistent channel.
    explicit LaneQueue(std::size_t shared) : shared_(shared), lanes_(shared) {}

    std::size_t shared() const { return shared_; }
    std::size_t lane_of(std::uint32_t channel) const;

    // Adds the run to the queue of its lane. A run without peers needs no lane.
    void add(KernelRun& run);
    // Returns the run that gets the lane thereby, or null.
    KernelRun* remove(const KernelRun& run);
    bool has_lane(const KernelRun& run) const {
        return run.plan->peers.empty() || lanes_[run.lane].front() == &run;
    }
    // The run that has the lane of `run`.
    KernelRun& holder(const KernelRun& run) { return *lanes_[run.lane].front(); }
    // Whether a run waits for the lane of `run`.
    bool has_waiter(const KernelRun& run) const {
        return !run.plan->peers.empty() && lanes_[run.lane].size() > 1;
    }
    bool any_run_waits() const;

    template <typename Visit>
    void for_each_holder(Visit visit) const {
        for (const std::deque<KernelRun*>& lane : lanes_) {
            if (!lane.empty()) visit(*lane.front());
        }
    }

  private:
    std::size_t shared_;
    std::vector<std::deque<KernelRun*>> lanes_;  // by lane; the first run has the lane
};

}  // namespace lapwing::kernel
