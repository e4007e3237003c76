// Runs the lists of a group from start to completion: gives them lanes, begins their stages, submits their
// chains to the kernel, and does their host steps. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "engines/engine.hpp"
#include "engines/kernel/event_thread.hpp"
#include "engines/kernel/host_steps.hpp"
#include "engines/kernel/lanes.hpp"
#include "engines/kernel/options.hpp"
#include "engines/kernel/ring.hpp"
#include "engines/kernel/run.hpp"
#include "engines/kernel/submission.hpp"
#include "links/connections.hpp"

namespace lapwing::kernel {

class Scheduler {
  public:
    // `request_event_thread` makes the event thread call run_on_event_thread() soon. Throws Error (system).
    Scheduler(Connections& connections, const Options& options, Link* intra_node,
              std::function<void()> request_event_thread);

    // Requests the connections of a plan.
    void want(const ChainPlan& plan);

    // Threads of the program call start(), test(), progress() and prepare_to_sleep().
    // `by_event_thread`: run_on_event_thread() advances the run whenever sockets() is readable, and when
    // messages of intra-node peers may have arrived. The plan must be short, and must not need the program.
    void start(KernelRun& run, std::uint32_t channel, bool by_event_thread);
    // Handles completions, and advances `run` and all runs that wait for a thread of the program.
    void test(KernelRun& run);
    // As test(), and does the steps of a short list inline.
    void progress(KernelRun& run);
    // As test(), before the caller sleeps. Completions stay in the ring, to wake the caller.
    void prepare_to_sleep(KernelRun& run);
    // Whether a run waits for messages of intra-node peers.
    bool awaits_intra_node() const;

    // Both return true if threads that sleep on the ring must be woken.
    bool run_on_event_thread();
    // On the progress thread: messages of intra-node peers may have arrived for a run that was started with
    // `by_event_thread`.
    bool advance_intra_node(KernelRun& run);
    // Whether the event thread must begin the next run on a lane or do local work.
    bool needs_event_thread() const;

    Ring& ring() { return ring_; }
    SocketWatch& sockets() { return sockets_; }
    IntraNodeMessages& intra_node() { return host_steps_.intra_node(); }

  private:
    void resume_awaiting_program();
    void process_changed(Caller caller);
    void launch(KernelRun& run);
    void begin_stage(KernelRun& run);
    bool may_stay_in_sockets(const KernelRun& run) const;
    bool awaits_submission(const KernelRun& run) const;
    void submit_if_needed(KernelRun& run);
    void watch_sockets(KernelRun& run);
    void submit(KernelRun& run);
    void cancel_in_kernel(KernelRun& run);
    void advance(KernelRun& run, Caller caller);
    HostSteps::Result advance_host_steps(KernelRun& run, Caller caller);
    void advance_inline_or_fail(KernelRun& run);
    void complete(KernelRun& run);
    void fail_broken(KernelRun& run);
    void fail(KernelRun& run, const std::string& why);
    void remove(KernelRun& run);

    Connections& connections_;
    const bool event_thread_submits_;
    const std::function<void()> request_event_thread_;
    Ring ring_;
    Gates gates_;
    SocketWatch sockets_;
    RunTable runs_;
    LaneQueue lanes_;
    std::vector<KernelRun*> changed_;           // to be processed by process_changed()
    std::vector<KernelRun*> awaiting_program_;  // only a thread of the program can advance them
    bool sleeper_is_done_ = false;              // a run that a thread sleeps for has ended
    Submission submission_;
    Completions completions_;
    HostSteps host_steps_;
};

}  // namespace lapwing::kernel
