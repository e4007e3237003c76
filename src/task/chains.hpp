// The chain form of a list: how an engine hands it to a kernel that runs linked operations on sockets.
//
// A chain is a straight line of steps; each begins when the one before is complete. Chains run beside each
// other. Where one must wait for another stands a gate: a counter that `signal` steps raise and an `await`
// step blocks on. Between two ranks there is one connection whose bytes keep their order; in each direction
// at most one step is in flight on it.
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
//
// Some peers may be near: their messages are the processor's work, over a link of another kind. Then the
// processor has a line of its own, the list's copies, reductions and intra-node tasks in the list's order,
// beside the line of sends, which are all far. Each waits for the other only where the list says so:
// - A inter-node send waits for what the processor does before it in the list, except intra-node sends: so a
// intra-node wait, a
//   copy or a reduction between inter-node sends makes a stage. Intra-node sends make none.
// - What the processor does waits for the inter-node receives that the list waits for before it. In its line
// that is
//   a wait for the inter-node peer, which counts from the beginning of the list; it looks at receives, so it
//   needs no gate.
//
// Why it comes to its end: a receive chain waits for its peer's bytes only, and what is received among the
// sends fits the connection. So no send waits for anything that its peer does later, and an await or a
// receive waits only for what the list waits for. A gate must hold all its signals for this: a signal never
// waits. Intra-node receives are posted at the start, and the processor waits for nothing that stands later
// in the list.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/verdict.hpp"
#include "task/list.hpp"

namespace lapwing {

struct Step {
    enum class Kind : std::uint8_t { send, receive, signal, await };

    Kind kind = Kind::send;
    std::int32_t peer = -1;   // send, receive
    std::int32_t gate = -1;   // signal, await
    std::uint64_t count = 0;  // await: how many signals it takes
    Span span;               // send: what it reads; receive: what it writes; no bytes: a signal between ranks
    std::uint32_t task = 0;  // index in the list of the task that it comes from; of a wait, for gates

    bool operator==(const Step&) const = default;
};

using Chain = std::vector<Step>;

// Begins when all chains of the stage before are complete and the processor has done what stands beside them.
struct Stage {
    std::vector<Task> local;    // copies, reductions and intra-node tasks, done first, by the processor
    std::vector<Chain> chains;  // handed over together: none, one, or its pieces, which gates hold together
    std::vector<Task>
        beside;  // with intra-node peers: what the processor does while the chains run, in order

    bool operator==(const Stage&) const = default;
};

struct Chains {
    int rank = 0;
    int ranks = 1;
    std::uint64_t in_bytes = 0;
    std::uint64_t out_bytes = 0;
    std::uint64_t scratch_bytes = 0;
    int gates = 0;
    std::vector<Chain> receives;  // handed over with the first stage; of each peer one, or its pieces
    std::vector<Stage> stages;
    std::vector<Task> last;  // local work when everything is complete

    bool operator==(const Chains&) const = default;
};

struct ChainLimits {
    std::uint64_t eager_bytes =
        1024;  // a connection holds at least as many; 0: no receive stands among sends
    std::uint64_t step_bytes = 1U << 30;  // a longer message is several steps; at least 1
    std::size_t chain_steps = 256;  // a longer chain is cut, and gates hold its pieces together; at least 3
    std::uint64_t gate_signals = 128;  // a gate holds at least as many that are not yet awaited; at least 1
};

// Whether a list has a chain form: its receives, which are posted at the start, must stand at its top, as
// those of every list of the catalogue do. Makes no other statement about a list that is wrong.
Verdict has_chains(const List& list);

// `near`: by rank, whether it is an intra-node peer; empty when none is. Takes time in proportion to the
// list's length. Throws Error (invalid_argument) for a list that holds enable tasks, that waits for receives
// it has not posted, or that does not wait for one it has.
Chains lower_to_chains(const List& list, const ChainLimits& limits = {},
                       const std::vector<bool>& intra_node = {});
// Which peers are intra-node `rank` where hosts[r] is the host of rank r.
std::vector<bool> intra_node_peers(std::span<const int> hosts, int rank);

// Readable, one chain after the other; not meant to be parsed.
std::string print(const Chains& chains);
std::string print(const Step& step);

}  // namespace lapwing
