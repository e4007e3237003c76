// Routes of a collective on unequal links: for each chunk the trees along which it is reduced and
// distributed.
//
// A block is divided into `pieces` chunks. A chunk that is reduced goes up a tree to its root, which combines
// the contributions; a chunk that is distributed goes down a tree from its root. An allreduce does both, and
// any rank may be the root. A chunk of an alltoall goes to one rank, perhaps by way of others.
//
// The model of time is that of simulate/parameters.hpp for one message on a chain of three links (the
// sender's port, the link of the pair, the receiver's port), without noise and without the cost of local
// work.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "task/list.hpp"

namespace lapwing::synthesis {

inline constexpr double never = std::numeric_limits<double>::infinity();
inline std::size_t at(int index) {
    return static_cast<std::size_t>(index);
}

// The links of a group whose ranks are on hosts of their own.
struct Links {
    int ranks = 1;
    double latency = 0;         // seconds from rank to rank
    double task = 0;            // seconds of the processor for each send and for each receive
    double per_byte = 0;        // seconds for each byte through the fastest port
    std::vector<double> ports;  // the slowness of each rank's port, in both directions; from 1 up
    // The slowness of the link from rank i to rank j at i * ranks + j, from 1 up; infinite: there is no link.
    std::vector<double> pairs;

    double pair(int from, int to) const { return pairs[at(from * ranks + to)]; }
    double port(int rank) const { return ports[at(rank)]; }
    bool joined(int from, int to) const;
    // The slowness of the whole way.
    double way(int from, int to) const;
    // The seconds of a short message.
    double message() const { return latency + 2 * task; }
    double seconds(int from, int to, double bytes) const {
        return message() + bytes * per_byte * way(from, to);
    }
};

// Returns a rank that no path of links joins with rank 0, if there is one.
std::optional<int> unreachable_rank(const Links& links);
// Throws Error (unsupported) if there is one.
void require_connected(const Links& links);

// Returns whether lists of the collective can be synthesized.
bool can_synthesize(Collective collective);

struct Chunk {
    int block = 0;     // of the block's memory, see lists_of()
    int position = 0;  // in the block
    int root = -1;     // -1: any rank
    bool reduced = false;
    std::vector<char> needed;  // of each rank: whether the chunk must come to it from the root
};

// Parents; -1 at the root, and at ranks that the chunk does not come to.
struct Tree {
    int root = 0;
    std::vector<int> up;    // empty: the chunk is not reduced
    std::vector<int> down;  // all -1: the chunk is not distributed
};

struct Routes {
    int pieces = 1;  // of a block
    std::vector<Chunk> chunks;
    std::vector<Tree> trees;  // of each chunk
    // Added to the urgency of a transfer, in seconds: those of chunk c at (2 * c + down) * ranks + child.
    std::vector<double> preferences;
};

// The chunks of a collective, without trees.
Routes routes_of(const Problem& problem, int pieces);

struct Transfer {
    int chunk = 0;
    bool up = false;
    int from = 0;
    int to = 0;
    double start = 0;    // seconds
    double arrival = 0;  // seconds
};

struct Schedule {
    std::vector<Transfer> transfers;  // in order of start
    double seconds = 0;               // until the last arrival
    double mean = 0;                  // of all arrivals
};

// Sends whatever is ready, the most urgent first: that with the longest way to go. `bytes`: of a chunk.
Schedule schedule(const Links& links, const Routes& routes, double bytes);

// Seconds that no lists can undercut in this model: the bytes that must pass each port, and the number of
// messages one after the other. `bytes`: of a block.
double lower_bound(const Links& links, const Problem& problem, double bytes);

// The lists that send in the order of the schedule.
ListSet lists_of(const Problem& problem, const Routes& routes, const Schedule& schedule);

}  // namespace lapwing::synthesis
