// The chain form of a list, for engines that submit linked operations on sockets to a kernel.
//
// A chain is a sequence of steps; each begins when the step before it is complete. Chains run concurrently. A
// gate synchronizes two chains: it is a counter that `signal` steps increment and an `await` step blocks on.
// Two ranks share one connection, which keeps the order of bytes; in each direction at most one step is in
// flight.
//
// Lowering to the chain form:
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
// - With intra-node peers, the processor has a sequence of its own (is_beside_sends() in chains.cpp).
//
// Why chains complete: a receive chain waits only for its peer's bytes, and receives among sends fit the
// connection. Therefore no send waits for a later action of its peer, and an await or a receive waits only
// for what the list waits for. This requires that a gate holds all its signals: a signal never waits.
// Intra-node receives are posted at the start, and the processor waits for no later task of the list.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/verdict.hpp"
#include "task/list.hpp"
#include "task/task.hpp"

namespace lapwing {

struct Step {
    enum class Kind : std::uint8_t { send, receive, signal, await };

    Kind kind = Kind::send;
    std::int32_t peer = -1;   // send, receive
    std::int32_t gate = -1;   // signal, await
    std::uint64_t count = 0;  // await: number of signals that it consumes
    Span span;                // send: source; receive: target; zero bytes: a signal between ranks
    std::uint32_t task = 0;   // index of its task in the list; for gates, of the wait
    bool is_last = false;     // send, receive: of its message, which may be several steps

    bool operator==(const Step&) const = default;
};

using Chain = std::vector<Step>;

// A stage begins when all chains of the stage before are complete and the processor has done its tasks beside
// them.
struct Stage {
    std::vector<Task> local;    // copies, reductions and intra-node tasks that the processor does first
    std::vector<Chain> chains;  // submitted together: none, one, or the pieces of one, joined by gates
    // With intra-node peers: tasks of the processor while the chains run, in order. A wait for an inter-node
    // peer counts the receives from the beginning of the list.
    std::vector<Task> beside;

    bool operator==(const Stage&) const = default;
};

struct Chains {
    int rank = 0;
    int ranks = 1;
    std::uint64_t in_bytes = 0;
    std::uint64_t out_bytes = 0;
    std::uint64_t scratch_bytes = 0;
    int gates = 0;
    std::vector<Chain> receives;  // submitted with the first stage; for each peer one chain, or its pieces
    std::vector<Stage> stages;
    std::vector<Task> last;  // copies and reductions after all chains

    bool operator==(const Chains&) const = default;
};

struct ChainLimits {
    // A connection holds at least this many bytes. 0: no receives among sends.
    std::uint64_t eager_bytes = 1024;
    // Longer messages become several steps; at least 1.
    std::uint64_t step_bytes = 1U << 30;
    // Longer chains are cut into pieces, joined by gates; at least 3.
    std::size_t chain_steps = 256;
    // A gate holds at least this many signals that are not yet awaited; at least 1.
    std::uint64_t gate_signals = 128;
};

// Return text for people, one chain after the other; there is no parser.
std::string print(const Chains& chains);
std::string print(const Step& step);

// Returns whether a list has a chain form: all its receives must be at its top, because they are posted at
// the start. All lists of the catalogue have one. Does not check the list otherwise.
Verdict has_chains(const List& list);

// Returns the chain form, in time proportional to the list's length. `intra_node`: by rank, whether the rank
// is an intra-node peer; empty if no rank is. Throws Error (invalid_argument) if the list has enable tasks,
// or if it waits for an inter-node receive that it has not posted, or does not wait for one that it has
// posted.
Chains lower_to_chains(const List& list, const ChainLimits& limits = {},
                       const std::vector<bool>& intra_node = {});
// Returns whether the task is a message of an intra-node peer, or a wait for one.
inline bool is_intra_node(const std::vector<bool>& intra_node, const Task& task) {
    const auto peer = static_cast<std::size_t>(task.peer);
    return task.peer >= 0 && peer < intra_node.size() && intra_node[peer];
}
// Returns which ranks share a host with `rank`; hosts[r] is the host of rank r.
std::vector<bool> intra_node_peers(std::span<const int> hosts, int rank);

}  // namespace lapwing
