// Which run has which lane. A lane belongs to one run at a time: two runs on one connection would have no
// order between their operations. Runs that find their lane taken wait in line for it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "engines/kernel/run.hpp"

namespace lapwing::kernel {

class LaneQueue {
  public:
    // Lanes below `shared` are taken in turn, by channel; each lane from there on is kept by one channel.
    explicit LaneQueue(std::size_t shared) : shared_(shared), lanes_(shared) {}

    std::size_t shared() const { return shared_; }
    std::size_t lane_of(std::uint32_t channel) const;

    // Puts the run in line for its lane. A run that exchanges nothing needs no lane.
    void add(Run& run);
    // Gives back the run that has got the lane by that; null when there is none.
    Run* remove(const Run& run);
    bool has_lane(const Run& run) const {
        return run.plan->peers.empty() || lanes_[run.lane].front() == &run;
    }
    // Of the lane that the run has, or is in line for.
    Run& holder(const Run& run) { return *lanes_[run.lane].front(); }
    // Whether a run is in line behind the one that has the lane.
    bool another_waits_for(const Run& run) const {
        return !run.plan->peers.empty() && lanes_[run.lane].size() > 1;
    }
    bool any_run_waits() const;

    template <typename Visit>
    void for_each_holder(Visit visit) const {
        for (const std::deque<Run*>& lane : lanes_) {
            if (!lane.empty()) visit(*lane.front());
        }
    }

  private:
    std::size_t shared_;
    std::vector<std::deque<Run*>> lanes_;  // the first of each has it
};

}  // namespace lapwing::kernel
