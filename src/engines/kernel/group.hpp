// The kernel engine of one group. Thread-safe: one thread at a time is inside.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>

#include "engines/kernel/event_thread.hpp"
#include "engines/kernel/options.hpp"
#include "engines/kernel/scheduler.hpp"
#include "links/event/poll_set.hpp"

namespace lapwing::kernel {

class KernelGroup {
  public:
    // Throws Error (system).
    KernelGroup(Connections& connections, const Options& options, Link* intra_node);

    // Requests the connections of a plan.
    void want(const ChainPlan& plan);
    // Starts the run on the lane of its channel, after the runs that are queued for that lane.
    // The event thread advances the run if `by_event_thread` (see Scheduler::start). Returns whether messages
    // of intra-node peers are incomplete.
    bool start(KernelRun& run, std::uint32_t channel, bool by_event_thread);
    // For a thread that is woken when messages of intra-node peers may have arrived. `run` was started with
    // `by_event_thread`. Returns whether it is complete or has failed.
    bool advance_intra_node(KernelRun& run);
    // As in Prepared. The group no longer uses a run that is complete. Throw Error (link) if the run has
    // failed.
    bool test(KernelRun& run);
    bool progress(KernelRun& run);
    int prepare_to_sleep(KernelRun& run);
    // Empty while the event thread is inside the group. Counts the steps of the chains and of the host.
    std::optional<Prepared::Position> position(const KernelRun& run);

  private:
    bool watch_sockets();
    static bool is_complete(const KernelRun& run);
    void call_by_event_thread();

    std::mutex mutex_;
    Scheduler scheduler_;
    PollSet poll_set_;
    bool watches_sockets_ = false;
    EventThreadCalls event_thread_;  // the last member, because its calls use all others
};

}  // namespace lapwing::kernel
