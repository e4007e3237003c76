#include "engines/kernel/lanes.hpp"

#include <algorithm>

namespace lapwing::kernel {

std::size_t LaneQueue::lane_of(std::uint32_t channel) const {
    if (channel < first_persistent_channel) return channel % shared_;
    return shared_ + (channel - first_persistent_channel);
}

LaneQueue::Turns& LaneQueue::turns_of(const KernelRun& run, std::size_t direction) {
    const auto peer = static_cast<std::size_t>(run.plan->peers[direction / 2]);
    std::vector<Turns>& turns = lanes_[run.lane].turns;
    const std::size_t index = 2 * peer + direction % 2;
    if (index >= turns.size()) turns.resize(index + 1);
    return turns[index];
}

void LaneQueue::add(KernelRun& run) {
    if (run.plan->peers.empty()) return;
    if (run.lane >= lanes_.size()) lanes_.resize(run.lane + 1);
    lanes_[run.lane].runs.push_back(&run);
    for (std::size_t i = 0; i < run.turns.size(); ++i) {
        Turn& turn = run.turns[i];
        turn = {&run, run.plan->steps_of_peers[i]};
        if (turn.left == 0) continue;
        Turns& turns = turns_of(run, i);
        turn.due = turns.first == nullptr;
        (turn.due ? turns.first : turns.last->next) = &turn;
        turns.last = &turn;
    }
}

void LaneQueue::remove(Turn& turn, Turns& turns, std::vector<KernelRun*>& changed) {
    Turn* before = nullptr;
    if (turns.first != &turn) {
        for (before = turns.first; before->next != &turn;) before = before->next;
    }
    (before == nullptr ? turns.first : before->next) = turn.next;
    if (turns.last == &turn) turns.last = before;
    turn.left = 0;
    if (before != nullptr || turns.first == nullptr) return;
    turns.first->due = true;
    changed.push_back(turns.first->run);
}

void LaneQueue::end_turns(KernelRun& run, std::vector<KernelRun*>& changed) {
    for (std::size_t i = 0; i < run.chains.size(); ++i) {
        ChainProgress& chain = run.chains[i];
        for (; chain.counted < chain.steps_done(); ++chain.counted) {
            const PlannedStep& step = (*chain.chain)[chain.counted];
            if (!step.has_peer()) continue;
            Turn& turn = run.turns[step.direction()];
            if (--turn.left == 0) remove(turn, turns_of(run, step.direction()), changed);
        }
    }
}

void LaneQueue::remove(KernelRun& run, std::vector<KernelRun*>& changed) {
    if (run.plan->peers.empty()) return;
    for (std::size_t i = 0; i < run.turns.size(); ++i) {
        if (run.turns[i].left > 0) remove(run.turns[i], turns_of(run, i), changed);
    }
    std::deque<KernelRun*>& lane = lanes_[run.lane].runs;
    const auto place = std::ranges::find(lane, &run);
    if (place == lane.end()) return;
    const bool had_it = place == lane.begin();
    lane.erase(place);
    if (had_it && !lane.empty()) changed.push_back(lane.front());
}

bool LaneQueue::holds_up(const KernelRun& run) const {
    if (run.plan->peers.empty()) return false;
    const std::deque<KernelRun*>& lane = lanes_[run.lane].runs;
    return std::any_of(lane.begin() + 1, lane.end(),
                       [](const KernelRun* behind) { return behind->state == KernelRun::State::queued; });
}

}  // namespace lapwing::kernel
