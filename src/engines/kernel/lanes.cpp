#include "engines/kernel/lanes.hpp"

#include <algorithm>

namespace lapwing::kernel {

std::size_t LaneQueue::lane_of(std::uint32_t channel) const {
    if (channel < first_persistent_channel) return channel % shared_;
    return shared_ + (channel - first_persistent_channel);
}

void LaneQueue::add(KernelRun& run) {
    if (run.plan->peers.empty()) return;
    if (run.lane >= lanes_.size()) lanes_.resize(run.lane + 1);
    lanes_[run.lane].push_back(&run);
}

KernelRun* LaneQueue::remove(const KernelRun& run) {
    if (run.plan->peers.empty()) return nullptr;
    std::deque<KernelRun*>& lane = lanes_[run.lane];
    const auto place = std::find(lane.begin(), lane.end(), &run);
    if (place == lane.end()) return nullptr;
    const bool had_it = place == lane.begin();
    lane.erase(place);
    return had_it && !lane.empty() ? lane.front() : nullptr;
}

bool LaneQueue::any_run_waits() const {
    return std::any_of(lanes_.begin(), lanes_.end(),
                       [](const std::deque<KernelRun*>& lane) { return lane.size() > 1; });
}

}  // namespace lapwing::kernel
