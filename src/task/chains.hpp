// Lowers a list to its chain form (task/chain_form.hpp).
//
// - The list's sends form one chain, in list order. Waits in this chain prevent sends from overtaking, as in
//   the management queue of CORE-Direct (Graham et al. 2010, section III-A).
// - Receives are posted early: the receives of each peer form a chain of their own, which starts with the
//   collective. A send must not share a chain with the receive that drains it, or two ranks could deadlock.
// - If all messages of a peer in the whole list fit the buffers of its connection, its receives are placed in
//   the sending chain instead of their waits. This saves gates.
// - A wait that later tasks depend on becomes an `await` for the signals of its receives. Adjacent waits form
//   a group: a peer signals once for all its messages to a group. Waits at the end of the list become the
//   completion of the chains.
// - Copies and reductions need the processor. They divide the sending chain into stages. Copies and
//   reductions before the first wait of a stage move to the beginning of the stage. They overtake only sends,
//   and a list does not overwrite spans that it has sent (rule hazard), so the sends carry the same bytes.
// - A message of zero bytes is one byte on the connection.
// - With intra-node peers, the processor has a sequence of its own (task/host_sequence.hpp).
//
// Why chains complete: a receive chain waits only for its peer's bytes, and receives among sends fit the
// connection. Therefore no send waits for a later action of its peer, and an await or a receive waits only
// for what the list waits for. This requires that a gate holds all its signals: a signal never waits.
// Intra-node receives are posted at the start, and the processor waits for no later task of the list.
#pragma once

#include <span>
#include <vector>

#include "base/verdict.hpp"
#include "task/chain_form.hpp"
#include "task/list.hpp"

namespace lapwing {

// Returns whether a list has a chain form: all its receives must be at its top, because they are posted at
// the start. All lists of the catalogue have one. Does not check the list otherwise.
Verdict has_chains(const List& list);

// Returns the chain form, in time proportional to the list's length. `intra_node`: by rank, whether the rank
// is an intra-node peer; empty if no rank is. Throws Error (invalid_argument) if the list has enable tasks,
// waits for receives that it has not posted, or has a receive without a wait.
Chains lower_to_chains(const List& list, const ChainLimits& limits = {},
                       const std::vector<bool>& intra_node = {});
// Returns which ranks share a host with `rank`; hosts[r] is the host of rank r.
std::vector<bool> intra_node_peers(std::span<const int> hosts, int rank);

}  // namespace lapwing
