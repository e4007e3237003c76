// What one rank reports of its MPI calls at one moment: plain data, without pointers. The journal
// (journal.hpp) makes it, ranks send it to each other, and diagnosis.hpp compares the snapshots of all ranks.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "task/problem.hpp"

namespace lapwing::watch {

// Whether a snapshot has the lines of source of its calls: looking for them takes up to seconds.
enum class Lines : bool { none, find };

// The arguments of a collective that all ranks of the communicator must agree on.
struct Arguments {
    Collective collective = Collective::barrier;
    int root = -1;            // -1: the collective has none
    std::uint64_t bytes = 0;  // of one block; 0 if blocks differ in length
    std::string type;         // of a reduction: "MPI_DOUBLE"; empty otherwise
    std::string operation;    // of a reduction: "MPI_SUM"; empty otherwise
    // Where blocks differ in length: bytes to and from each peer. Only of calls that Lapwing has examined,
    // and of the last such call of the communicator; empty otherwise.
    std::vector<std::uint64_t> sent;
    std::vector<std::uint64_t> received;
};

// The position of a list that is in flight.
struct Position {
    std::string engine;        // empty: the position is unknown
    std::uint64_t task = 0;    // index of the first task that is not complete
    std::uint64_t tasks = 0;   // of the whole list
    std::vector<int> awaited;  // ranks in the communicator whose messages that task needs; empty: unknown
};

enum class Form : std::uint8_t { blocking, nonblocking, persistent_init };

// One call of a collective.
struct CollectiveCall {
    std::uint64_t number = 0;  // among the collective calls of the communicator, from 1; equal on all ranks
    Form form = Form::blocking;
    Arguments arguments;
    std::string function;     // "MPI_Ibcast"
    std::string where;        // "solver.c:88", or "solver+0x1a2b" without debug information
    std::uint64_t site = 0;   // return address in the rank's process; not sent
    std::uint64_t age = 0;    // nanoseconds since the call
    bool by_lapwing = false;  // false: the native MPI runs the call
    bool in_flight = false;
    Position position;
};

// The ranks first, first + stride, ... MPI_COMM_WORLD and most other communicators are one run, or few.
struct RankRun {
    int first = 0;
    int count = 0;
    int stride = 1;
};
std::vector<RankRun> runs_of(std::span<const int> ranks);
// Returns the ranks of the runs in order, at most `limit`. Leaves out ranks outside 0 to limit - 1.
std::vector<int> ranks_of(std::span<const RankRun> runs, int limit);

// Equal on all ranks of a communicator, different for two communicators of the job.
using CommunicatorId = std::array<std::uint64_t, 2>;

struct CommunicatorSnapshot {
    CommunicatorId id{};
    std::string name;                    // MPI_Comm_get_name, or "communicator 2 of ranks 0-3"
    std::vector<RankRun> members;        // ranks in MPI_COMM_WORLD
    std::uint64_t calls = 0;             // collective calls so far, blocking ones included
    std::uint64_t hash = 0;              // of the arguments of all calls so far, in order
    bool comparable = true;              // false: the MPI has refused a call of this rank
    std::vector<CollectiveCall> recent;  // the last calls, oldest first, and earlier ones still in flight
};

// A call of MPI in which a thread of the rank is now.
struct CurrentCall {
    std::string function;  // "MPI_Recv"
    std::string where;
    std::uint64_t site = 0;          // as in CollectiveCall
    std::uint64_t age = 0;           // nanoseconds since the call
    std::int64_t communicator = -1;  // index into RankSnapshot::communicators; -1: none or unknown
    int peer = -1;                   // rank in the communicator; -1: none; -2: MPI_ANY_SOURCE
    int tag = -1;
    // Calls that complete requests: the collectives that they wait for, as numbers in `communicator`.
    std::vector<std::uint64_t> waits_for;
};

struct RankSnapshot {
    int rank = 0;  // in MPI_COMM_WORLD
    std::string host;
    int pid = 0;
    std::string program;
    std::vector<CommunicatorSnapshot> communicators;
    std::vector<CurrentCall> current;  // empty: no thread is inside MPI
    CurrentCall last;                  // the last call that ended, if `current` is empty
    int messages = 0;                  // large ones that the native MPI has in flight
    // Of a rank that does not answer: the reason, with its host: "rank 3 (node2, pid 4711) is stopped by a
    // signal". All other members but `rank` are empty then.
    std::string silence;
};

// The form in which snapshots travel between ranks of one build of Lapwing.
std::vector<std::byte> encode(const RankSnapshot& snapshot);
// Throws Error (link) if the bytes are not a snapshot. Never reads beyond `bytes`, nor allocates more than a
// small multiple of them.
RankSnapshot decode(std::span<const std::byte> bytes);

}  // namespace lapwing::watch
