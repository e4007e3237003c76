// The chain form of a list: how an engine hands it to a kernel that runs linked operations on sockets.
// task/chains.hpp makes it.
//
// A chain is a straight line of steps; each begins when the one before is complete. Chains run beside each
// other. Where one must wait for another stands a gate: a counter that `signal` steps raise and an `await`
// step blocks on. Between two ranks there is one connection whose bytes keep their order; in each direction
// at most one step is in flight on it.
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
    // With intra-node peers: what the processor does while the chains run, in order. A wait for an inter-node
    // peer counts its receives from the beginning of the list.
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
    std::vector<Chain> receives;  // handed over with the first stage; of each peer one, or its pieces
    std::vector<Stage> stages;
    std::vector<Task> last;  // local work when everything is complete

    bool operator==(const Chains&) const = default;
};

struct ChainLimits {
    // A connection holds at least as many. 0: no receive stands among sends.
    std::uint64_t eager_bytes = 1024;
    // A longer message is several steps; at least 1.
    std::uint64_t step_bytes = 1U << 30;
    // A longer chain is cut, and gates hold its pieces together; at least 3.
    std::size_t chain_steps = 256;
    // A gate holds at least as many that are not yet awaited; at least 1.
    std::uint64_t gate_signals = 128;
};

// Readable, one chain after the other; not meant to be parsed.
std::string print(const Chains& chains);
std::string print(const Step& step);

}  // namespace lapwing
