// Sample problems, for the tool and for tests.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "task/parts.hpp"
#include "task/problem.hpp"

namespace lapwing {

// The lengths of the blocks of a collective with parts.
struct Sizes {
    enum class Kind {
        even,    // the given length
        uneven,  // 0, 1/2, 1, 3/2 and 2 times the given length, in turn
        random,  // any length up to twice the given length
    };
    Kind kind = Kind::even;
    std::uint64_t seed = 0;  // for random lengths
    bool apart = false;      // with gaps and in another order than that of the peers
};

// Returns the problem with blocks of about `bytes` bytes, in whole elements for reductions: sets
// problem.bytes, or the parts of all ranks. The graph of neighbour collectives is periodic_line().
Problem with_blocks(Problem problem, std::uint64_t bytes, const Sizes& sizes = {});
// The same with a given graph.
Problem with_blocks(Problem problem, std::uint64_t bytes, const Sizes& sizes,
                    std::span<const Neighbors> graph);

// Returns problems of every form of the collective, with blocks of about `bytes` bytes: several roots, in
// place and not, operators that commute and one that does not, blocks of different lengths, graphs with loops
// and double edges.
std::vector<Problem> sample_problems(Collective collective, int ranks, std::uint64_t bytes);

// Returns hosts of different sizes, round robin, blocks of one size, an order of their own, groups inside
// hosts, and twice one host with groups inside it.
std::vector<std::shared_ptr<const Placement>> placements_of_every_kind(int ranks);

// Returns the sample problems with placements of every kind. Few ranks get each problem with every placement.
// For many ranks, to limit the time of proofs, each problem gets two: one of several hosts and one of one
// host, in turn. From three ranks on, some host has several ranks.
std::vector<Problem> sample_problems_on_hosts(Collective collective, int ranks, std::uint64_t bytes);

}  // namespace lapwing
