#include "engines/triggered/prepared.hpp"

#include <utility>

namespace lapwing::triggered {

TriggeredPrepared::TriggeredPrepared(const List& list, std::shared_ptr<Group> group, bool persistent)
    : persistent_(persistent),
      schedule_(
          std::make_shared<const Schedule>(schedule(list, persistent ? Landing::direct : Landing::slots))),
      counters_(needs_of(*schedule_).counters),
      group_(std::move(group)) {}

TriggeredPrepared::~TriggeredPrepared() {
    for (const auto& [number, channel] : channels_) group_->close(*channel);
}

Operation* TriggeredPrepared::start(const Buffers& buffers, std::uint32_t channel) {
    TriggeredRun& run = runs_.take([this] { return group_->make_run(); });
    run.schedule = schedule_;
    run.counters = counters_;
    run.buffers = buffers;
    group_->start(run, persistent_ ? *channels_.at(channel) : group_->shared());
    return &run;
}

bool TriggeredPrepared::test(Operation* operation) {
    TriggeredRun& run = static_cast<TriggeredRun&>(*operation);
    if (!group_->test(run)) return false;
    runs_.release(run);
    return true;
}

std::uint32_t TriggeredPrepared::offer(std::uint32_t channel) {
    constexpr std::uint32_t no_lane = UINT32_MAX;
    GroupChannel* const opened = group_->open(*schedule_, channel);
    if (opened == nullptr) return no_lane;
    channels_[channel] = opened;
    return 0;
}

void TriggeredPrepared::release_channel(std::uint32_t channel) {
    const auto found = channels_.find(channel);
    if (found == channels_.end()) return;
    group_->close(*found->second);
    channels_.erase(found);
}

}  // namespace lapwing::triggered
