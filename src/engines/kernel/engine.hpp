// The kernel engine: Linux runs the list. The list's chain form (task/chain_form.hpp) is handed to io_uring
// as linked operations on sockets; the kernel sends, receives, waits and begins the next step while the
// program computes, and reports only the end of a chain. That needs no thread, no privilege and no spare
// core.
//
// The idea is CORE-Direct's (Graham et al. 2010), where the network card runs the list.
//
// How the parts stand to each other, from a list to its completion:
//   chain_plan, host_step_plan   what is prepared once for a list
//   prepared, run                starts of it, each with its state (chain_progress, intra_node)
//   group                        a group's part: the mutex, and calls of the event thread
//   (event_thread_calls) scheduler                    takes runs through their stages; it uses
//     lane_queue, run_table        which run has which lane, and which number
//     submission, completions      chains into io_uring (ring), and what comes back
//     inline_steps                 the same steps by plain calls
//     host_steps, intra_node       what the processor does
//   trace                        what a traced job records of all this
#pragma once

#include <memory>
#include <vector>

#include "engines/engine.hpp"
#include "engines/kernel/options.hpp"
#include "links/connections.hpp"

namespace lapwing {

const Engine& kernel_engine();

// For one group, over these connections; `intra_node` reaches the peers that `intra_node_peers` names, by
// rank, and may be null if there are none. Connections and link must outlive the result.
std::unique_ptr<GroupEngine> open_kernel_group(Connections& connections, const kernel::Options& options = {},
                                               Link* intra_node = nullptr,
                                               const std::vector<bool>& intra_node_peers = {});

}  // namespace lapwing
