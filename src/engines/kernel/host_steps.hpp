// Does the host steps of runs: copies, reductions, messages of intra-node peers, and waits for what the
// kernel does.
#pragma once

#include "engines/kernel/caller.hpp"
#include "engines/kernel/intra_node.hpp"
#include "engines/kernel/run.hpp"
#include "engines/progress_choice.hpp"

namespace lapwing::kernel {

class HostSteps {
  public:
    enum class Result {
        done,            // all, or as many as may be done before the next stage begins
        awaits_kernel,   // the next one waits for chains
        awaits_program,  // the next one waits for a thread of the program
    };

    // Null: there are no intra-node peers.
    HostSteps(Link* intra_node, ProgressLists event_thread_lists)
        : intra_node_(intra_node), event_thread_lists_(event_thread_lists) {}

    // In order, as far as they go now. Throws Error (link).
    Result advance(Run& run, Caller caller);
    // Whether the event thread has something to do for the run, now or when chains complete.
    bool event_thread_may_help(const Run& run) const {
        return event_thread_may_work(run) && run.host_steps_left() && run.plan->host.has_work();
    }

    bool event_thread_works() const { return event_thread_lists_ != ProgressLists::none; }

    IntraNodeMessages& intra_node() { return intra_node_; }

  private:
    Result take(Run& run, const HostStep& step, Caller caller);
    bool may_work(const Run& run, Caller caller) const {
        return caller == Caller::program || event_thread_may_work(run);
    }
    bool event_thread_may_work(const Run& run) const {
        return event_thread_works() && !run.plan->host.needs_program() &&
               (event_thread_lists_ == ProgressLists::all || !run.plan->may_wait_in_sockets());
    }

    IntraNodeMessages intra_node_;
    const ProgressLists event_thread_lists_;
};

}  // namespace lapwing::kernel
