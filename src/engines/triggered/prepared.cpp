#include "engines/triggered/prepared.hpp"

#include <utility>

namespace lapwing::triggered {

TriggeredPrepared::TriggeredPrepared(const List& list, std::shared_ptr<Group> group)
    : schedule_(std::make_shared<const Schedule>(
          schedule(list, group->keeps() ? Landing::direct : Landing::slots))),
      counters_(max_of(*schedule_).counters),
      group_(std::move(group)) {}

TriggeredPrepared::~TriggeredPrepared() {
    for (const auto& [channel, ends] : kept_) group_->close(ends);
}

Operation* TriggeredPrepared::start(const Buffers& buffers, std::uint32_t channel) {
    Run& run = runs_.take();
    run.schedule = schedule_;
    run.counters = counters_;
    run.kept = group_->keeps() ? kept_.at(channel) : nullptr;
    run.buffers = buffers;
    run.complete = false;
    run.has_begun = false;
    group_->start(run);
    return &run;
}

bool TriggeredPrepared::test(Operation* operation) {
    Run& run = static_cast<Run&>(*operation);
    if (!group_->test(run)) return false;
    runs_.release(run);
    return true;
}

bool TriggeredPrepared::keep(std::uint32_t channel) {
    if (!group_->keeps()) return true;
    KeptEnds* const ends = group_->open(schedule_, channel);
    if (ends != nullptr) kept_[channel] = ends;
    return ends != nullptr;
}

void TriggeredPrepared::give_up(std::uint32_t channel) {
    const auto found = kept_.find(channel);
    if (found == kept_.end()) return;
    group_->close(found->second);
    kept_.erase(found);
}

}  // namespace lapwing::triggered
