// The kernel engine's part in one group. Any thread may call any of it; one at a time is inside.
#pragma once

#include <cstdint>
#include <mutex>

#include "engines/kernel/event_thread_calls.hpp"
#include "engines/kernel/options.hpp"
#include "engines/kernel/scheduler.hpp"
#include "links/event/poll_set.hpp"

namespace lapwing::kernel {

class KernelGroup {
  public:
    // Throws Error (system).
    KernelGroup(Connections& connections, const Options& options, Link* intra_node);

    // Asks for the connections of a plan.
    void want(const ChainPlan& plan);
    // Hands the run over. It takes the lane that its channel names, after those that took it before.
    void start(Run& run, std::uint32_t channel);
    // As Prepared's; true when the run is complete and forgotten here. Throw Error (link) when it has failed.
    bool test(Run& run);
    bool progress(Run& run);
    int prepare_to_sleep(Run& run);

  private:
    static bool is_complete(const Run& run);
    void call_by_event_thread();

    std::mutex mutex_;
    Scheduler scheduler_;
    PollSet poll_set_;
    EventThreadCalls event_thread_;  // the last one: its calls need all the others
};

}  // namespace lapwing::kernel
