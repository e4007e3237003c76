#include "engines/triggered/works.hpp"

#include <algorithm>
#include <set>

namespace lapwing::triggered {
namespace {

class WorkMaker {
  public:
    WorkMaker(const Schedule& schedule, const std::function<bool(std::int32_t)>& not_ready)
        : schedule_(schedule), not_ready_(not_ready) {
        std::size_t first_of_level = 0;
        std::uint32_t level = 0;
        for (std::size_t i = 0; i < schedule.writes.size(); ++i) {
            const Write& write = schedule.writes[i];
            if (write.level != level) {
                level = write.level;
                first_of_level = i;
                enter(level, first_of_level);
            }
            Trigger trigger = trigger_;
            if (level == 0 && not_ready(write.peer)) trigger = {{Counter::Kind::credit, write.peer}, 1};
            made_.push_back({Work::Kind::write, trigger, static_cast<std::uint32_t>(i), -1});
        }
    }
    std::vector<Work> take() { return std::move(made_); }

  private:
    void enter(std::uint32_t level, std::size_t first) {
        std::vector<Trigger> all;
        for (const Arrival& arrival : schedule_.levels[level].arrivals)
            all.push_back({{Counter::Kind::landed, arrival.peer}, arrival.messages});
        if (const std::uint32_t stages = schedule_.levels[level].stages; stages > 0)
            all.push_back({{Counter::Kind::stage}, stages});
        // A later threshold of the same counter includes the earlier one.
        const bool replaced = trigger_.counter.kind == Counter::Kind::none ||
                              std::any_of(all.begin(), all.end(), [&](const Trigger& one) {
                                  return one.counter == trigger_.counter;
                              });
        if (!replaced) all.push_back(trigger_);
        for (std::size_t i = first; i < schedule_.writes.size() && schedule_.writes[i].level == level; ++i) {
            const std::int32_t peer = schedule_.writes[i].peer;
            if (not_ready_(peer) && credited_.insert(peer).second)
                all.push_back({{Counter::Kind::credit, peer}, 1});
        }
        if (all.size() == 1) {
            trigger_ = all.front();
            return;
        }
        const std::int32_t gate = gates_++;
        for (const Trigger& one : all) made_.push_back({Work::Kind::add, one, 0, gate});
        trigger_ = {{Counter::Kind::gate, gate}, all.size()};
    }

    const Schedule& schedule_;
    const std::function<bool(std::int32_t)>& not_ready_;
    std::vector<Work> made_;
    Trigger trigger_;                  // of the current level
    std::set<std::int32_t> credited_;  // peers whose credits the current trigger includes
    std::int32_t gates_ = 0;
};

}  // namespace

std::vector<Work> works(const Schedule& schedule, const std::function<bool(std::int32_t)>& not_ready) {
    return WorkMaker(schedule, not_ready).take();
}

std::uint64_t gates_of(const std::vector<Work>& works) {
    std::uint64_t gates = 0;
    for (const Work& work : works)
        if (work.kind == Work::Kind::add) gates = std::max(gates, static_cast<std::uint64_t>(work.gate) + 1);
    return gates;
}

std::uint64_t entries_of(const Work& work) {
    return work.kind == Work::Kind::write ? 1 : 2;
}

Needs needs_of(const Schedule& schedule) {
    const std::vector<Work> all = works(schedule, [](std::int32_t) { return true; });
    Needs needs;
    for (const Work& work : all) needs.entries += entries_of(work);
    needs.counters = gates_of(all) + (schedule.awaited_stages() > 0 ? 1 : 0) + 1;
    return needs;
}

}  // namespace lapwing::triggered
