// The lanes of a group: one connection to each peer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <vector>

#include "engines/kernel/run.hpp"

namespace lapwing::kernel {

// Gives lanes to runs. A lane belongs to one run at a time: only that run may have operations in the kernel,
// because those of two runs on one connection would have no order. A run whose lane is in use waits in its
// queue. Short runs begin there, by plain system calls, as far as the runs before them let them (Turn).
class LaneQueue {
  public:
    // Channels use the lanes below `shared` in turn. Each further lane belongs to one persistent channel.
    explicit LaneQueue(std::size_t shared) : shared_(shared), lanes_(shared) {}

    std::size_t shared() const { return shared_; }
    std::size_t lane_of(std::uint32_t channel) const;

    // Adds the run to the queue of its lane. A run without peers needs no lane.
    void add(KernelRun& run);
    // Ends the turns of the steps that are done. Adds the runs whose turns begin to `changed`.
    void end_turns(KernelRun& run, std::vector<KernelRun*>& changed);
    // Adds the run that gets the lane thereby, and those whose turns begin, to `changed`.
    void remove(KernelRun& run, std::vector<KernelRun*>& changed);
    bool has_lane(const KernelRun& run) const {
        return run.plan->peers.empty() || lanes_[run.lane].runs.front() == &run;
    }
    // The run that has the lane of `run`.
    KernelRun& holder(const KernelRun& run) { return *lanes_[run.lane].runs.front(); }
    // Whether a run waits for the lane of `run`.
    bool has_waiter(const KernelRun& run) const {
        return !run.plan->peers.empty() && lanes_[run.lane].runs.size() > 1;
    }
    // Whether a run behind `run`, which has the lane, cannot begin.
    bool holds_up(const KernelRun& run) const;

    template <typename Visit>
    void for_each_holder(Visit visit) const {
        for (const Lane& lane : lanes_) {
            if (!lane.runs.empty()) visit(*lane.runs.front());
        }
    }

  private:
    struct Turns {
        Turn* first = nullptr;
        Turn* last = nullptr;
    };
    struct Lane {
        std::deque<KernelRun*> runs;  // the first one has the lane
        std::vector<Turns> turns;     // 2 * peer: sends to it; 2 * peer + 1: receives from it
    };
    Turns& turns_of(const KernelRun& run, std::size_t direction);
    void remove(Turn& turn, Turns& turns, std::vector<KernelRun*>& changed);

    std::size_t shared_;
    std::vector<Lane> lanes_;
};

// The lanes of one group that persistent lists have for themselves. Each takes a lane that is free on all
// ranks; a lane's descriptors are set aside when the lane is first used.
class PersistentLanes {
  public:
    static constexpr int count = 32;  // a bit for each

    // `set_aside` sets the descriptors of one more lane aside (false: there are too few), `release` releases
    // them.
    PersistentLanes(std::function<bool()> set_aside, std::function<void()> release)
        : set_aside_(std::move(set_aside)), release_(std::move(release)) {}

    // The lanes that this rank cannot use. accept() or decline() must follow.
    std::uint32_t offer() {
        may_open_ = set_aside_();
        return taken_ | (may_open_ ? 0 : ~opened_);
    }
    void accept(int lane) {
        const std::uint32_t bit = std::uint32_t{1} << lane;
        if (may_open_ && (opened_ & bit) != 0) release_();
        may_open_ = false;
        taken_ |= bit;
        opened_ |= bit;
    }
    void decline() {
        if (may_open_) release_();
        may_open_ = false;
    }
    void release(int lane) { taken_ &= ~(std::uint32_t{1} << lane); }

  private:
    const std::function<bool()> set_aside_;
    const std::function<void()> release_;
    std::uint32_t taken_ = 0;   // on this rank
    std::uint32_t opened_ = 0;  // ever; equal on all ranks
    bool may_open_ = false;     // descriptors for one more are set aside
};

}  // namespace lapwing::kernel
