// Hosts, their leaders, and trees of hosts, for the algorithms that use the placement of the ranks.
// Intra-node messages stay on one host; inter-node messages go from leader to leader. Karonis et al. 2000,
// "Exploiting hierarchy in parallel computer networks to optimize collective operation performance"; Graham
// et al. 2011, "Cheetah: A Framework for Scalable Hierarchical Collective Operations".
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "collectives/algorithm.hpp"
#include "collectives/vector_blocks.hpp"

namespace lapwing::two_level {

// Yes if there are several hosts and at least one of them has several ranks.
Verdict has_levels(const Problem& problem);
// Yes if host by host the ranks are in rank order, or if the operator commutes.
Verdict keeps_order(const Problem& problem);

// Ranks by host and seat. Seats follow the placement's order, except that the root, if there is one, has the
// first seat of its host.
class Seats {
  public:
    explicit Seats(const Problem& problem);

    int hosts() const { return placement_.hosts(); }
    int ranks_on(int host) const { return static_cast<int>(placement_.ranks_of(host).size()); }
    int host_of(int rank) const { return placement_.host_of(rank); }
    int rank_at(int host, int seat) const {
        return placement_.ranks_of(host)[static_cast<std::size_t>(swapped(host, seat))];
    }
    // The host `distance` after `host`, modulo hosts(); distance > -hosts().
    int host_after(int host, int distance) const { return (host + distance + hosts()) % hosts(); }

  private:
    int swapped(int host, int seat) const {
        if (host != root_host_) return seat;
        return seat == 0 ? root_place_ : seat == root_place_ ? 0 : seat;
    }

    const Placement& placement_;
    int root_host_ = -1;  // -1: no root
    int root_place_ = 0;
};

// The ranks of a host, divided into `groups` runs of seats. The first rank of each run is its leader.
class SeatGroups {
  public:
    SeatGroups(int ranks, std::int64_t groups)
        : ranks_(ranks), groups_(static_cast<int>(std::clamp<std::int64_t>(groups, 1, ranks))) {}

    int count() const { return groups_; }
    int begin(int group) const { return static_cast<int>(std::int64_t{group} * ranks_ / groups_); }
    int size(int group) const { return begin(group + 1) - begin(group); }
    int of_seat(int seat) const {
        return static_cast<int>(((std::int64_t{seat} + 1) * groups_ - 1) / ranks_);
    }
    bool leads(int seat) const { return begin(of_seat(seat)) == seat; }

  private:
    int ranks_;
    int groups_;
};

// A host's neighbours in a tree of hosts whose subtrees are runs of hosts, counted from the top.
struct HostTree {
    int parent = -1;            // -1 at the top
    std::vector<int> children;  // the nearest first
};
// `radix` 1: a chain; else the k-nomial tree.
HostTree tree_of_hosts(int hosts, int top, int host, std::int64_t radix);
int levels_of_tree(int hosts, std::int64_t radix);

// The parameters of broadcast and reduce.
inline constexpr Parameter tree_parameters[] = {
    {"k", "base of the tree of hosts; 1: a chain; 0: a chain when there are enough segments, else 4", 0, 0,
     1024},
    {"segment", "segment size in KiB; 0: a 32nd of all bytes, from 32 to 128 KiB", 0, 0, 1 << 20},
    {"leaders", "ranks of each host that share the segments", 1, 1, 1024},
};
inline constexpr int max_segments = 256;

// The segments of a vector, and the ranks that pass them on.
struct Segments {
    // `kib`: KiB of one segment; 0: by the length of the vector. There are at least `min_count` segments, and
    // at least one for each leader.
    Segments(const Problem& problem, std::int64_t kib, std::int64_t leaders_wanted, int min_count = 1);

    int count() const { return blocks.count(); }
    Span of(Span vector, int segment) const { return blocks.of(vector, segment); }
    // The rank of `host` that passes on the segment.
    int owner(const Seats& seats, int host, int segment) const {
        return seats.rank_at(
            host, static_cast<int>(segment % std::min<std::int64_t>(leaders, seats.ranks_on(host))));
    }

    std::int64_t leaders;
    VectorBlocks blocks;
};

// Returns the radix of the tree that parameter `k` selects; 1: a chain.
std::int64_t radix_of(std::int64_t k, int hosts, int segments);

// Seconds of `count` messages of `bytes` bytes each, one after the other.
double intra_node_messages(const Machine& machine, double count, double bytes);
double inter_node_messages(const Machine& machine, double count, double bytes);
// Seconds for all segments to pass a tree of hosts, in either direction. Each segment takes
// `intra_node_per_segment` seconds on a host.
double cost_of_tree(const Problem& problem, const Parameters& parameters, const Machine& machine,
                    double intra_node_per_segment);

// For problems that have levels. Returns the constants for the cost of an algorithm that ignores hosts:
// around a ring those of inter-node messages, with doubling the means over the steps between these ranks,
// else those of peers that are drawn at random. See Paths.
Machine machine_for_flat(const Problem& problem, Paths paths, const Machine& machine);

}  // namespace lapwing::two_level
