// Functions on parts: the blocks of collectives with blocks of different lengths.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "task/problem.hpp"

namespace lapwing {

// Returns the parts of all ranks, with adjacent blocks in the order of their peers. `bytes(from, to)` is the
// length of a block. In neighbour collectives, ranks are neighbours if their block is not empty. The block
// depends only on `from` in gatherv and allgatherv (`to` is the root, or 0), and only on `to` in scatterv and
// reduce_scatter (`from` is the root, or 0). Uses the problem's collective, ranks, root and in_place.
using BlockLength = std::function<std::uint64_t(int from, int to)>;
std::vector<Parts> all_parts(const Problem& problem, const BlockLength& bytes);

// The neighbours of a rank, in any order; a neighbour may occur several times.
struct Neighbors {
    std::vector<int> sources;
    std::vector<int> destinations;
};
// Returns a ring of ranks: each rank sends to the previous and to the next rank.
std::vector<Neighbors> periodic_line(int ranks);

// Returns the parts of all ranks of a neighbour collective; `neighbors` has one entry per rank. Blocks
// between the same two ranks have one length. Empty blocks are included.
std::vector<Parts> parts_of_graph(const Problem& problem, std::span<const Neighbors> neighbors,
                                  const BlockLength& bytes);

// Given a problem with the parts of one rank, returns the problem with the parts of all ranks, if
// all_ranks_know_all_parts(). The offsets of other ranks are unknown, and their blocks are assumed adjacent.
// Returns other problems unchanged.
Problem with_parts_of_all(const Problem& problem);

// Returns the value of problem.bytes that belongs to the parts: the average block, in whole elements, if
// all_ranks_know_all_parts(); else 0.
std::uint64_t average_block(const Problem& problem);

// Returns, for each receive of `rank`, the index of its send among the sends of the peer. The problem must be
// valid and have the parts of all ranks.
std::vector<std::size_t> meetings(const Problem& problem, int rank);

}  // namespace lapwing
