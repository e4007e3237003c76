// The events of a run on the kernel engine in a traced job. A step of the processor has a beginning and an
// end. For the kernel's steps, only two moments are known: when a chain was submitted, and when a thread
// found a step complete.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engines/kernel/chain_plan.hpp"
#include "engines/kernel/chain_progress.hpp"
#include "engines/task_tracer.hpp"
#include "task/list.hpp"

namespace lapwing::kernel {

// Maps the host steps of a plan to the tasks of its list.
class TracePlan {
  public:
    // `plan` must be made from `list` and `intra_node`, and outlive this object. Throws Error (internal) if
    // they do not match.
    TracePlan(const List& list, const std::vector<bool>& intra_node, const ChainPlan& plan);

  private:
    friend class RunTrace;
    struct Wait {
        std::uint32_t task = 0;
        std::uint32_t last_receive = 0;  // the task that it waits for, or none
    };
    void find_host_steps();
    void find_waits(const std::vector<bool>& intra_node);

    const ChainPlan& chains_;
    std::vector<Task> tasks_;
    std::vector<std::uint32_t> host_steps_;  // the task of each, or none
    std::vector<Wait> waits_;                // for inter-node peers, in the list's order
};

// The events of one run. The caller must hold the group's mutex, except for start().
class RunTrace {
  public:
    explicit RunTrace(const TracePlan& plan) : plan_(plan) {}
    void start(std::uint64_t operation);
    void submitted(std::size_t chain);
    // Records the steps that have completed since the last call.
    void record_completed(const RunChains& chains);
    // May be called again for a step that could not be done.
    void begin_host_step(const HostStep& step);
    void end_host_step(std::size_t index);

  private:
    const TracePlan& plan_;
    TaskTracer tracer_;
    std::vector<std::uint64_t> since_;  // by chain: when it was submitted; 0: it is not in the kernel
    std::vector<std::uint32_t> seen_;   // by chain: number of steps found complete
    std::vector<bool> known_;           // by task: found complete
    std::size_t wait_ = 0;              // the next of the waits
};

}  // namespace lapwing::kernel
