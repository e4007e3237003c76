// The triggered engine: the network runs the list. The list becomes writes into the peers' memory, which
// counters start (schedule, works), and all of them are queued in the network when the run starts. From then
// on the processor has nothing to do until the program waits, unless the list reduces; on Slingshot's cards,
// that is: libfabric's provider `sockets` does the same in a thread.
//
// After Portals' and libfabric's triggered operations (Underwood et al. 2011; fi_trigger(3)).
//
// How the parts stand to each other:
//   schedule          what a list becomes, once
//   works, ledger     what a run of it queues, with which slots and counts
//   demand            what lists take of the network, so that all ranks decline the same ones
//   pairs             the memory that ranks keep for each other
//   kept_ledger       the counts of lists that keep their buffers: of persistent collectives
//   kept_ends         where such a list's messages land: in the buffers themselves
//   announcements     what ranks tell each other of their memory
//   group             runs, from start to completion
// Those that are about data alone know no network.
#pragma once

#include <memory>

#include "engines/engine.hpp"
#include "engines/triggered/demand.hpp"
#include "links/deferred_work.hpp"

namespace lapwing {

const Engine& triggered_engine();

namespace triggered {
// What one group's lists may take. Lists that are not persistent share what they take; each persistent list
// has its own. No counters for persistent lists: the group declines them.
struct GroupLimits {
    Limits once;
    Limits persistent;
};
}  // namespace triggered

// For one group. Network and link must outlive the result.
std::unique_ptr<GroupEngine> open_triggered_group(DeferredWork& network, Link& messages,
                                                  const triggered::GroupLimits& limits);

}  // namespace lapwing
