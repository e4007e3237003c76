// Does the host steps of runs: copies, reductions, messages of intra-node peers, and waits for chains.
#pragma once

#include "engines/kernel/intra_node.hpp"
#include "engines/kernel/run.hpp"
#include "engines/progress_choice.hpp"

namespace lapwing::kernel {

class HostSteps {
  public:
    enum class Result {
        done,            // all host steps, or all that come before the next stage
        awaits_kernel,   // the next step waits for chains
        awaits_program,  // the next step waits for a thread of the program
    };

    // `intra_node` may be null if there are no intra-node peers.
    HostSteps(Link* intra_node, ProgressLists event_thread_lists)
        : intra_node_(intra_node), event_thread_lists_(event_thread_lists) {}

    // Does steps until one must wait. Throws Error (link).
    Result advance(KernelRun& run, Caller caller);
    // Whether the event thread has work for the run, now or when chains complete.
    bool event_thread_may_help(const KernelRun& run) const {
        return event_thread_may_work(run) && run.host_steps_left() && run.plan->host.has_work();
    }

    bool event_thread_works() const { return event_thread_lists_ != ProgressLists::none; }

    IntraNodeMessages& intra_node() { return intra_node_; }

  private:
    Result do_step(KernelRun& run, const HostStep& step, Caller caller);
    bool may_work(const KernelRun& run, Caller caller) const {
        return caller == Caller::program || event_thread_may_work(run);
    }
    bool event_thread_may_work(const KernelRun& run) const {
        return event_thread_works() && !run.plan->host.needs_program() &&
               (event_thread_lists_ == ProgressLists::all || run.by_event_thread ||
                !run.plan->may_wait_in_sockets());
    }

    IntraNodeMessages intra_node_;
    const ProgressLists event_thread_lists_;
};

}  // namespace lapwing::kernel
