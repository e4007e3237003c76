// The chain form of a list, for engines that submit linked operations on sockets to a kernel. task/chains.hpp
// makes it.
//
// A chain is a sequence of steps; each begins when the step before it is complete. Chains run concurrently. A
// gate synchronizes two chains: it is a counter that `signal` steps increment and an `await` step blocks on.
// Two ranks share one connection, which keeps the order of bytes; in each direction at most one step is in
// flight.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

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

}  // namespace lapwing
