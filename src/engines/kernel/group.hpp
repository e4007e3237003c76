// The kernel engine of one group. Runs lists from start to completion: gives them lanes, begins their stages,
// submits their chains to the kernel, and does their host steps. Thread-safe: one thread at a time is inside.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "engines/engine.hpp"
#include "engines/kernel/bursts.hpp"
#include "engines/kernel/event_thread.hpp"
#include "engines/kernel/lanes.hpp"
#include "engines/kernel/options.hpp"
#include "engines/kernel/ring.hpp"
#include "engines/kernel/run.hpp"
#include "engines/kernel/submission.hpp"
#include "links/connections.hpp"

namespace lapwing::kernel {

class KernelGroup {
  public:
    // `intra_node` may be null if there are no intra-node peers. Throws Error (system).
    KernelGroup(Connections& connections, const Options& options, Link* intra_node);

    // No run is in flight, and none has failed: another communicator of the same ranks may use the group. Not
    // while a thread of the program is inside.
    bool is_unused_and_whole();
    // The link of the communicator that uses the group.
    void use_intra_node(Link* link);

    // Whether the program has started as many runs as there are lanes without a call for one of them.
    bool starts_many();

    // Requests the connections of a plan.
    void want(const ChainPlan& plan);
    // Threads of the program call start(), test(), progress() and prepare_to_sleep().
    // Starts the run on the lane of its channel, after the runs that are queued for that lane.
    // `by_event_thread`: the event thread advances the run when its sockets are ready. The plan must be
    // short, and must not need the program. Returns whether messages of intra-node peers are incomplete.
    bool start(KernelRun& run, std::uint32_t channel, bool by_event_thread);
    // For a thread that is woken when messages of intra-node peers may have arrived. `run` was started with
    // `by_event_thread`. Returns whether it is complete or has failed.
    bool advance_intra_node(KernelRun& run);
    // As in Prepared. The group no longer uses a run that is complete. Throw Error (link) if the run has
    // failed. A caller may call for one of its runs only: the calls also advance, in turn, the other runs
    // that wait for a thread of the program.
    bool test(KernelRun& run);
    bool progress(KernelRun& run);
    int prepare_to_sleep(KernelRun& run);
    // Empty while the event thread is inside the group. Counts the steps of the chains and of the host.
    std::optional<Prepared::Position> position(const KernelRun& run);

  private:
    // The thread that is inside.
    enum class Caller {
        program,  // a thread of the program, in one of its calls
        // The event thread, or the progress thread of the job. Must not call the program's own reduction
        // function, and uses the intra-node link only for runs that allow that.
        event_thread,
    };

    void call_by_event_thread();
    bool needs_event_thread() const;
    void watch_ring_if_needed();
    bool event_thread_may_help(const KernelRun& run) const;
    bool event_thread_may_work(const KernelRun& run) const;

    void process_for_program(KernelRun& run);
    void process_changed();
    void launch(KernelRun& run);
    void begin_stage(KernelRun& run);
    bool hold_back(KernelRun& run);
    void end_holding_back();
    bool may_stay_in_sockets(const KernelRun& run) const;
    bool advances_inline(const KernelRun& run) const;
    void submit_if_needed(KernelRun& run);
    void watch_sockets(KernelRun& run);
    void hand_to_caller(KernelRun& run);
    void advance(KernelRun& run);
    bool advance_host_steps_or_fail(KernelRun& run);
    bool advance_inline_or_fail(KernelRun& run);
    void complete(KernelRun& run);
    void fail_broken(KernelRun& run);
    void fail(KernelRun& run, const std::string& why);
    void end_failed(KernelRun& run);
    void remove(KernelRun& run);
    static bool is_complete(const KernelRun& run);

    Connections& connections_;
    const Options options_;
    Link* intra_node_;
    std::mutex mutex_;
    Caller caller_ = Caller::program;
    Ring ring_;
    Gates gates_;
    RunTable runs_;
    LaneQueue lanes_;
    std::vector<KernelRun*> changed_;  // to be processed by process_changed()
    Bursts bursts_;
    std::vector<KernelRun*> held_back_;
    std::vector<KernelRun*> moved_;             // by the messages of another run
    std::vector<KernelRun*> awaiting_program_;  // only a thread of the program can advance them
    std::uint64_t calls_ = 0;                   // of process_for_program()
    bool failed_ = false;                       // a run has
    Submission submission_;
    Completions completions_;
    EventThreadCalls event_thread_;  // the last member, because its calls use all others
};

}  // namespace lapwing::kernel
