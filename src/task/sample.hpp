// Problems to try algorithms with: by the tool, by tests.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "task/parts.hpp"
#include "task/problem.hpp"

namespace lapwing {

// The blocks of a collective with parts.
struct Sizes {
    enum class Kind {
        even,    // of one length
        uneven,  // of none, half of it, all of it, one and a half times and twice it, in turn
        random,  // of any length up to twice it
    };
    Kind kind = Kind::even;
    std::uint64_t seed = 0;  // of random lengths
    bool apart = false;      // in an order of their own, with gaps, not side by side
};

// The problem with blocks of about so many bytes, in whole elements of a reduction: problem.bytes, or parts
// of all ranks. Neighbours stand in a periodic line.
Problem with_blocks(Problem problem, std::uint64_t bytes, const Sizes& sizes = {});
// The same for a neighbour collective on any graph.
Problem with_blocks(Problem problem, std::uint64_t bytes, const Sizes& sizes,
                    std::span<const Neighbors> graph);

// Problems of every form that the collective has, with blocks of about so many bytes: roots, in place and
// not, with operators that commute and one that does not, blocks of several lengths, graphs with loops and
// double edges.
std::vector<Problem> sample_problems(Collective collective, int ranks, std::uint64_t bytes);

// Ways in which ranks may stand on hosts, as the host of each rank, for proofs: first none, so that all are
// far from each other, then hosts of several sizes, then, of up to eight ranks, dealt round robin.
std::vector<std::vector<int>> sample_hosts(int ranks);

// The same problems on hosts of every kind: of several sizes with one rank alone, dealt round robin, in
// blocks of one size, gone through in an order of their own. Of few ranks each on all of them; of many, where
// that would be much to prove, in turn. From three ranks on there are hosts with several ranks.
std::vector<Problem> sample_problems_on_hosts(Collective collective, int ranks, std::uint64_t bytes);

}  // namespace lapwing
