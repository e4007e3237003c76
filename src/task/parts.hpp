// Blocks of several lengths: made and measured.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "task/problem.hpp"

namespace lapwing {

// The parts of all ranks, blocks side by side in the order of their peers; `bytes(from, to)` is the length of
// a block. Ranks are neighbours where that is not 0; a gatherv or allgatherv asks for the block of `from`
// only (to is the root, or 0), a scatterv or reduce_scatter for that of `to` (from is the root, or 0), a
// neighbor_allgather for that of any neighbour. Heeds the problem's collective, ranks, root and in_place.
using BlockLength = std::function<std::uint64_t(int from, int to)>;
std::vector<Parts> all_parts(const Problem& problem, const BlockLength& bytes);

// Who sends to a rank, and to whom it sends, each in an order of its own; a rank may be there several times.
struct Neighbors {
    std::vector<int> sources;
    std::vector<int> destinations;
};
// A line of ranks whose ends meet: each sends to the one before it and the one behind it.
std::vector<Neighbors> periodic_line(int ranks);

// The parts of all ranks of a neighbour collective, one of `neighbors` for each rank. Blocks between the same
// two ranks have one length; those of zero bytes are there, too.
std::vector<Parts> parts_of_graph(const Problem& problem, std::span<const Neighbors> neighbors,
                                  const BlockLength& bytes);

// Of a problem with one rank's parts: the same with those of all ranks, where one rank knows how long all
// blocks are (allgatherv, reduce_scatter). Where the others keep theirs it does not know: blocks stand side
// by side. Other problems stay as they are.
Problem with_parts_of_all(const Problem& problem);

// What problem.bytes is to be, given the parts: the average block, in whole elements, where all ranks know
// all of them; else 0.
std::uint64_t average_block(const Problem& problem);

// For each receive of `rank` the index of the send that it meets, among those of its peer. The problem is
// valid and has the parts of all ranks.
std::vector<std::size_t> meetings(const Problem& problem, int rank);

}  // namespace lapwing
