// What a traced job records of a run on the kernel engine. What the processor does has a beginning and an
// end. Of what the kernel does it is known when a chain was handed over, and when a thread found a step
// complete: no more is recorded.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engines/kernel/chain_plan.hpp"
#include "engines/kernel/chain_progress.hpp"
#include "engines/task_tracer.hpp"
#include "task/chains.hpp"
#include "task/list.hpp"

namespace lapwing::kernel {

// Which tasks of the list the steps and host steps of its plan come from.
class TracePlan {
  public:
    // `chains` and `plan` were made of `list`, with `intra_node`. Throws Error (internal) when they do not
    // fit.
    TracePlan(const List& list, const std::vector<bool>& intra_node, const Chains& chains,
              const ChainPlan& plan);

  private:
    friend class RunTrace;
    static constexpr std::uint32_t none = UINT32_MAX;

    struct TracedChain {
        std::vector<std::uint32_t> tasks;  // by step: the task that it completes, or none
        std::uint64_t bytes = 0;
        int peer = -1;  // of a chain of receives
        bool receives = false;
    };
    struct Wait {
        std::uint32_t task = 0;
        std::vector<std::uint32_t> receives;
    };
    TracedChain traced(const Chain& chain, bool receives) const;
    void find_host_steps(const HostStepPlan& plan);
    void find_waits(const std::vector<bool>& intra_node);

    std::vector<Task> tasks_;
    std::vector<TracedChain> chains_;
    std::vector<std::uint32_t> host_steps_;  // the task of each, or none
    std::vector<Wait> waits_;                // for inter-node peers, in the list's order
};

// Of one run. All of these with the group's mutex held, but for start().
class RunTrace {
  public:
    explicit RunTrace(const TracePlan& plan) : plan_(plan) {}
    void start(std::uint64_t operation);
    void handed_over(std::size_t chain);
    // Records what has completed since the last look.
    void look(const RunChains& chains);
    // Also when the step was begun before, and could not be done.
    void begin_host_step(const HostStep& step);
    void end_host_step(std::size_t index);

  private:
    void see(std::uint32_t task, std::uint64_t now);

    const TracePlan& plan_;
    TaskTracer tracer_;
    std::vector<std::uint64_t> since_;  // by chain: when it was handed over; 0: it is not in the kernel
    std::vector<std::uint32_t> seen_;   // by chain: steps that were found complete
    std::vector<bool> known_;           // by task: complete
    std::size_t wait_ = 0;              // the next of the waits
};

}  // namespace lapwing::kernel
