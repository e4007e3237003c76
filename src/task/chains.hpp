// From a list to its chain form (task/chain_form.hpp).
//
// - The list's sends stand in one chain, in the list's order. As waits allow no send to overtake, this is
//   the management queue of CORE-Direct (Graham et al. 2010, section III-A).
// - Receives are posted early: a peer's receives are a chain of their own, handed over at the start. A
//   send and the receive that must drain it may not share a chain, or two ranks could wait for each other.
// - But what a peer sends in the whole list fits the buffers of its connection when it is short: such
//   receives stand in the sending chain, in place of their waits. That saves the gates.
// - A wait that something follows is an `await` for the signals of its receives. Waits that follow each other
//   directly are one group: a peer signals once for all that it sends to a group. Waits at the end are the
//   completion of the chains.
// - Copies and reductions need the processor. They divide the sending chain into stages. Those before the
//   first wait of a stage move to its beginning. There they overtake sends only, and what a list has sent it
//   does not overwrite (rule hazard), so the sends carry the same bytes.
// - A message of no bytes is one byte on the connection.
// - Where some peers are intra-node, the processor has a sequence of its own (task/host_sequence.hpp).
//
// Why it comes to its end: a receive chain waits for its peer's bytes only, and what is received among the
// sends fits the connection. So no send waits for anything that its peer does later, and an await or a
// receive waits only for what the list waits for. A gate must hold all its signals for this: a signal never
// waits. Intra-node receives are posted at the start, and the processor waits for nothing that stands later
// in the list.
#pragma once

#include <span>
#include <vector>

#include "base/verdict.hpp"
#include "task/chain_form.hpp"
#include "task/list.hpp"

namespace lapwing {

// Whether a list has a chain form: its receives, which are posted at the start, must stand at its top, as
// those of every list of the catalogue do. Makes no other statement about a list that is wrong.
Verdict has_chains(const List& list);

// `intra_node`: by rank, whether it is an intra-node peer; empty when none is. Takes time in proportion to
// the list's length. Throws Error (invalid_argument) for a list that holds enable tasks, that waits for
// receives it has not posted, or that does not wait for one it has.
Chains lower_to_chains(const List& list, const ChainLimits& limits = {},
                       const std::vector<bool>& intra_node = {});
// Which peers share a host with `rank`, where hosts[r] is the host of rank r.
std::vector<bool> intra_node_peers(std::span<const int> hosts, int rank);

}  // namespace lapwing
