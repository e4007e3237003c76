// A recorded program: what each thread of each rank did between MPI_Init and MPI_Finalize, as a sequence of
// calls of MPI with the computation before each call. `lapwing profile --record` writes it.
//
// The sequence is folded: a run of calls that repeats is a loop with a body, and each call of the body has
// statistics of its times instead of one time. A folded sequence has the same calls in the same order as the
// program; only times are summarized.
//
// Handles are numbers. A site, a communicator, a type, an operation and a list of counts are defined once for
// each rank, and their numbers mean nothing on another rank. A request is a slot: the lowest number that was
// free when the request began, so that each iteration of a loop uses the same slots.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace lapwing::recording {

constexpr int any_rank = -1;  // MPI_ANY_SOURCE, and as a tag MPI_ANY_TAG
constexpr int no_rank = -2;   // MPI_PROC_NULL, or the function has no such parameter

// The arguments of a call, without times.
struct Call {
    std::uint32_t site = 0;          // function and place in the program, see Site
    std::uint32_t communicator = 0;  // see Communicator; 0: none
    // Bytes that this rank passes to the call and gets from it. Of a collective, the length of one block; of
    // one whose blocks differ (v and w), all blocks together. Of a receive, the room in the buffer.
    std::uint64_t sent = 0;
    std::uint64_t received = 0;
    int peer = no_rank;    // rank in the communicator: destination of a send, root of a collective
    int source = no_rank;  // rank in the communicator: of a receive or a probe
    int tag = no_rank;     // of a send
    int receive_tag = no_rank;
    std::uint32_t type = 0;             // reduction: number of a predefined type; 0: derived
    std::uint32_t operation = 0;        // reduction: number of a predefined operation; 0: the program's own
    std::uint32_t sent_counts = 0;      // v, w, neighbor: number of Counts; 0: none
    std::uint32_t received_counts = 0;  // the same
    // Calls that complete: how many of `requests` are complete afterwards; probes: 1 if a message was found.
    std::uint32_t completed = 0;
    bool in_place = false;
    // Slots. A call that makes or starts requests: those. A call that completes: all that it was passed,
    // without null and inactive requests; `completed` of them are complete afterwards. Which ones is not
    // recorded where the MPI chooses (MPI_Waitany, MPI_Waitsome and the tests): the slots of the requests are
    // exchanged then, so that those with the lowest numbers are complete.
    std::vector<std::uint32_t> requests;

    friend bool operator==(const Call&, const Call&) = default;
};

// The times of one call, in nanoseconds.
struct Time {
    std::uint64_t processor = 0;  // of this thread, since its previous call returned
    std::uint64_t wall = 0;       // since its previous call returned
    std::uint64_t inside = 0;     // from the beginning to the end of the call
    // Calls of the same function before this one, with the same arguments, that found nothing complete
    // (MPI_Test and MPI_Iprobe in a loop). Their times are part of the three above: `processor` and `wall`
    // contain the computation between them.
    std::uint64_t polls = 0;

    Time& operator+=(const Time& other) {
        processor += other.processor;
        wall += other.wall;
        inside += other.inside;
        polls += other.polls;
        return *this;
    }
    friend bool operator==(const Time&, const Time&) = default;
};

// The times of one call of the sequence, over all passes of the loops that it is in.
struct Times {
    static constexpr std::size_t max_samples = 8;

    std::uint64_t count = 0;
    Time sum;
    std::uint64_t min_inside = 0;  // the shortest time inside the call
    // (number of the occurrence from 0, its times), in this order. All occurrences if there are at most
    // max_samples. Ranks that run the same loops keep the same occurrences.
    std::vector<std::pair<std::uint64_t, Time>> samples;

    void add(const Time& time);
    void add(const Times& later);  // occurrences that follow

  private:
    void summarize(std::uint64_t later, const Time& sum_of_later, std::uint64_t min_inside_of_later);
};

// How many passes a loop makes, each time that the program comes to it: (passes, how many times in a row).
class Passes {
  public:
    // The loop makes `passes`, `times` in a row, after those before.
    void add(std::uint64_t passes, std::uint64_t times = 1);
    void add(const Passes& later);
    const std::vector<std::pair<std::uint64_t, std::uint64_t>>& runs() const { return runs_; }
    std::uint64_t at(std::uint64_t visit) const;  // of one visit, from 0

  private:
    std::vector<std::pair<std::uint64_t, std::uint64_t>> runs_;
};

// One element of a sequence: a call, or a loop.
struct Node {
    std::uint32_t call = 0;  // index in Thread::calls
    Times times;             // of the call
    Passes passes;           // of the loop
    std::vector<Node> body;  // of the loop; empty: a call

    bool is_loop() const { return !body.empty(); }
};

// What one thread did.
struct Thread {
    std::uint64_t began = 0;  // nanoseconds of the host's steady clock, at the end of MPI_Init
    std::vector<Call> calls;  // all that differ
    std::vector<Node> sequence;
    bool truncated = false;  // the end is missing: the rank was killed, or its disk was full

    std::uint64_t count() const;  // calls of the program, those in loops as often as they were made
};

// A place in the program that calls a function.
struct Site {
    std::string function;      // "MPI_Ialltoall"
    std::string module;        // file of the program or library; empty: unknown
    std::uint64_t offset = 0;  // of the call, in the module as it is loaded
    std::string symbol;        // of the program's function, if the module exports it
};

struct Communicator {
    // World ranks in the order of the communicator, of an intercommunicator those of this rank's group. -1:
    // not in MPI_COMM_WORLD.
    std::vector<int> members;
    std::vector<int> remote;  // of an intercommunicator: the other group
    int rank = 0;             // this rank, in the communicator
    // Which of the communicators with these members, in the order of their creation: (members, remote,
    // ordinal) is the same on all ranks of the communicator.
    std::uint64_t ordinal = 0;
    // World ranks of this rank's neighbors, if the communicator has a topology.
    std::vector<int> sources, destinations;
};

// Bytes to or from each rank of the communicator, or each neighbor. Only their sum is known if `all` is
// empty: the lists would have taken too much room.
struct Counts {
    std::vector<std::uint64_t> all;
    std::uint64_t sum = 0;
};

struct Type {
    std::string name;  // "MPI_DOUBLE"
    std::uint64_t bytes = 0;
};

struct Rank {
    int rank = 0;
    std::string host;
    std::string processor;        // "AMD EPYC 9R45"
    std::string machine;          // equal for ranks of one kernel, also if these are in different containers
    std::vector<int> processors;  // that the main thread was allowed to use at the end of MPI_Init
    int online = 0;               // processors of the machine
    std::string mpi;              // the library's own name and version
    bool ended = false;           // reached MPI_Finalize
    // By number.
    std::map<std::uint32_t, Site> sites;
    std::map<std::uint32_t, Communicator> communicators;
    std::map<std::uint32_t, Counts> counts;
    std::map<std::uint32_t, Type> types;
    std::map<std::uint32_t, std::string> operations;  // "MPI_SUM"
    std::vector<Thread> threads;                      // the first is the one that called MPI_Init
};

struct Recording {
    int ranks = 0;           // of the job, also those without a file
    std::string command;     // from job.json; empty if there is none
    std::string date;        // the same
    std::vector<Rank> each;  // in the order of ranks, without those that left no file
};

// Ranks of one machine that were allowed to use fewer processors than they are.
struct SharedProcessors {
    std::vector<int> ranks;
    std::vector<int> processors;
    int online = 0;  // processors of the machine
};
// Ranks that have a processor in common are in one group. In the order of each group's first rank; empty if
// the recording has no processors.
std::vector<SharedProcessors> shared_processors(const Recording& recording);

// Reads a directory that `lapwing profile --record` has written. Accepts the files of ranks that were killed.
// Throws Error (system) if a file cannot be read, and Error (parse) if a file is not a recording.
Recording read_recording(const std::string& directory);

// Calls visit(call of the thread's table, its times, number of the occurrence) for each call of the program
// in order, loops unfolded.
template <typename Visit>
void unfold(const Thread& thread, const std::vector<Node>& sequence,
            std::map<const Node*, std::uint64_t>& seen, Visit& visit) {
    for (const Node& node : sequence) {
        const std::uint64_t before = seen[&node]++;
        if (!node.is_loop()) {
            visit(thread.calls[node.call], node.times, before);
            continue;
        }
        const std::uint64_t passes = node.passes.at(before);
        for (std::uint64_t pass = 0; pass < passes; ++pass) unfold(thread, node.body, seen, visit);
    }
}
template <typename Visit>
void unfold(const Thread& thread, Visit visit) {
    std::map<const Node*, std::uint64_t> seen;
    unfold(thread, thread.sequence, seen, visit);
}

}  // namespace lapwing::recording
