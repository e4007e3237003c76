// Takes the runs of a group from their start to their completion: gives them lanes, begins their stages,
// hands their chains to the kernel, and does their host steps as the chains get on. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "engines/engine.hpp"
#include "engines/kernel/caller.hpp"
#include "engines/kernel/completions.hpp"
#include "engines/kernel/gates.hpp"
#include "engines/kernel/host_steps.hpp"
#include "engines/kernel/lane_queue.hpp"
#include "engines/kernel/options.hpp"
#include "engines/kernel/ring.hpp"
#include "engines/kernel/run_table.hpp"
#include "engines/kernel/submission.hpp"

namespace lapwing::kernel {

class Scheduler {
  public:
    // `request_event_thread` makes the event thread call run_on_event_thread() soon. Throws Error (system).
    Scheduler(Connections& connections, const Options& options, Link* intra_node,
              std::function<void()> request_event_thread);

    // Asks for the connections of a plan.
    void want(const ChainPlan& plan);

    // These are for threads of the program. The run takes the lane that its channel names.
    void start(Run& run, std::uint32_t channel);
    // Looks at `run`, at what has completed, and at all runs that need a thread of the program to go on.
    void look(Run& run);
    // The same, and does steps of a short list inline.
    void progress(Run& run);
    // As look(), before the caller sleeps: what completed earlier is left to wake it.
    void prepare_to_sleep(Run& run);
    // Whether something to sleep for may come by the link to intra-node peers.
    bool awaits_intra_node() const;

    // True when somebody may sleep on the ring for what has been done here, or found to be needed.
    bool run_on_event_thread();
    // Whether there is something that neither the kernel nor a caller does: to begin the next run on a lane,
    // or local work.
    bool needs_event_thread() const;

    Ring& ring() { return ring_; }
    IntraNodeMessages& intra_node() { return host_steps_.intra_node(); }

  private:
    void resume_awaiting_program();
    void settle(Caller caller);
    void launch(Run& run);
    void begin_stage(Run& run);
    bool may_stay_in_sockets(const Run& run) const;
    bool awaits_submission(const Run& run) const;
    void hand_over(Run& run);
    void submit(Run& run);
    void take_back(Run& run);
    void advance(Run& run, Caller caller);
    HostSteps::Result advance_host_steps(Run& run, Caller caller);
    void move_inline_or_fail(Run& run);
    void complete(Run& run);
    void fail_broken(Run& run);
    void fail(Run& run, const std::string& why);
    void remove(Run& run);

    Connections& connections_;
    const bool event_thread_submits_;
    const std::function<void()> request_event_thread_;
    Ring ring_;
    Gates gates_;
    RunTable runs_;
    LaneQueue lanes_;
    std::vector<Run*> changed_;           // since settle() looked at them
    std::vector<Run*> awaiting_program_;  // can go on by a thread of the program only
    Submission submission_;
    Completions completions_;
    HostSteps host_steps_;
};

}  // namespace lapwing::kernel
