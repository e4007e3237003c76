// The progress of the chains of a run.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "engines/kernel/chain_plan.hpp"

namespace lapwing::kernel {

struct ChainProgress {
    const PlannedChain* chain = nullptr;
    std::uint32_t step = 0;    // the next step; of a chain in the kernel, the step that the kernel began with
    std::uint64_t offset = 0;  // bytes of that step that are done
    bool in_kernel = false;
    std::uint32_t reported = 0;  // steps that the kernel has reported as done
    std::uint32_t counted = 0;   // steps whose turns (KernelRun::turns) have ended
    std::uint32_t cancelled_due =
        0;  // completions to come, of steps that were cancelled with their predecessor

    const PlannedStep& next() const { return (*chain)[step]; }
    std::uint32_t steps_done() const { return std::max(step, reported); }
    bool done() const { return !in_kernel && step == chain->size(); }
};

// The chains of a run that have begun: the receives, then the chains of the stages up to the current one.
class RunChains {
  public:
    void restart();
    void begin_receives(const ChainPlan& plan);
    void begin_stage(const ChainPlan& plan);
    void end_stage();
    // Whether the chains of the previous stage and the host steps before the next stage are complete.
    bool may_begin_stage(const ChainPlan& plan, std::size_t host_steps) const {
        return !in_stage_ && stage_ < plan.stages.size() && host_steps >= plan.stages[stage_].host_steps;
    }
    bool stage_is_complete() const { return in_stage_ && stage_open_ == 0; }
    // Whether no chain that has begun has a send left. If the list is not short, no later stage may have one
    // either.
    bool only_receives_left(const ChainPlan& plan) const;
    // The first stage that is not complete.
    std::size_t stage() const { return stage_; }
    bool all_complete(const ChainPlan& plan) const {
        return stage_ == plan.stages.size() && receives_open_ == 0;
    }

    std::size_t size() const { return chains_.size(); }
    ChainProgress& operator[](std::size_t number) { return chains_[number]; }
    const ChainProgress& operator[](std::size_t number) const { return chains_[number]; }

    void enter_kernel(ChainProgress& chain) {
        chain.in_kernel = true;
        ++in_kernel_;
    }
    void leave_kernel(ChainProgress& chain) {
        chain.in_kernel = false;
        --in_kernel_;
    }
    bool any_in_kernel() const { return in_kernel_ > 0; }
    bool all_in_kernel() const { return in_kernel_ == stage_open_ + receives_open_; }
    // Returns whether that does the chain's next step.
    bool advance(ChainProgress& chain, std::uint64_t bytes) {
        chain.offset += bytes;
        if (chain.offset < chain.next().bytes) return false;
        chain.offset = 0;
        ++chain.step;
        if (chain.done()) completed(static_cast<std::size_t>(&chain - chains_.data()));
        return true;
    }
    void completed(std::size_t number) { --(number < receives_ ? receives_open_ : stage_open_); }

  private:
    void add(const ChainPlan& plan, std::size_t end);

    std::vector<ChainProgress> chains_;
    std::size_t receives_ = 0;       // number of receive chains, which come first
    std::size_t receives_open_ = 0;  // receive chains that are not done
    std::size_t stage_ = 0;
    bool in_stage_ = false;       // its chains have begun
    std::size_t stage_open_ = 0;  // chains of the stage that are not done
    std::size_t in_kernel_ = 0;
};

// Which step of which chain of which run a completion belongs to, and which part of the step.
struct StepTag {
    // A receive with a low-water mark is several operations.
    enum class Part : std::uint8_t {
        whole,  // all that is left of the step
        body,   // the operations up to the tail
        pause,  // the wait for the tail
        tail,   // the last bytes
    };

    std::uint32_t run = 0;
    std::uint32_t chain = 0;
    std::uint32_t step = 0;
    Part part = Part::whole;

    // As an operation's user data; never Ring::wake_up.
    std::uint64_t packed() const {
        return std::uint64_t{run} << 40 | static_cast<std::uint64_t>(part) << 38 |
               std::uint64_t{chain} << 16 | std::uint64_t{step};
    }
    static StepTag of(std::uint64_t user_data) {
        return {static_cast<std::uint32_t>(user_data >> 40),
                static_cast<std::uint32_t>(user_data >> 16 & (ChainPlan::max_chains - 1)),
                static_cast<std::uint32_t>(user_data & 0xffff), static_cast<Part>(user_data >> 38 & 3)};
    }
};

}  // namespace lapwing::kernel
