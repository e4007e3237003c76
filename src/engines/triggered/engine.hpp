// The triggered engine: the network runs the list. The list becomes writes into the peers' memory, which
// counters start (schedule, works), and all of them are queued in the network when the run starts. From then
// on the processor has nothing to do until the program waits, unless the list reduces; on Slingshot's cards,
// that is: libfabric's provider `sockets` does the same in a thread.
//
// After Portals' and libfabric's triggered operations (Underwood et al. 2011; fi_trigger(3)).
//
//   schedule what a list becomes, once
//   works    what a run of a schedule queues in the network
//   ledger   which slots and counts a run uses of each pair of ranks
//   demand   what lists take of the network, so that all ranks decline the same lists
//   channel  memory that ranks announce to each other, and its counters: one channel for all lists of a
//            group; and one for each persistent list, whose messages land in the caller's buffers
//   run      one run: its queued works, and what the processor does for it
//   group    takes runs from start to completion
//   prepared a list that can be started
// The first four are about data alone and use no network.
#pragma once

#include <memory>

#include "engines/engine.hpp"
#include "engines/triggered/deferred_work.hpp"
#include "engines/triggered/demand.hpp"

namespace lapwing {

const Engine& triggered_engine();

// For one group. Network and link must outlive the result.
std::unique_ptr<GroupEngine> open_triggered_group(DeferredWork& network, Link& messages,
                                                  const triggered::GroupLimits& limits);

}  // namespace lapwing
