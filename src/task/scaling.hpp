// Lists in chunks (ListSet::chunks), for a size.
//
// A block of n elements has chunks whose boundaries are at i*n/chunks elements, rounded down: chunks differ
// by at most one element, and some are empty if n is smaller than the number of chunks. In each memory, chunk
// j is at position j % chunks of block j / chunks, and scratch is also such a row of blocks. All chunks at
// one position have the same length.
//
// If each copy, reduction and message of a set is between chunks at the same position, the set is *aligned*:
// lengths then fit for every size, and every byte of a chunk goes where its chunk goes. What the checker
// proves of the chunks therefore holds for every size. A set that is not aligned serves sizes that divide
// evenly.
#pragma once

#include <string>

#include "task/list.hpp"

namespace lapwing {

// Returns the first task that is between chunks at different positions, as "rank 1, task 3 (...)"; empty if
// the set is aligned. Sends and receives must match, see check().
std::string first_unaligned(const ListSet& set);

// Returns whether the block's elements divide evenly into the set's chunks.
bool divides_evenly(const ListSet& set, const Problem& problem);

// Returns one rank's list for `problem`, which has the collective, ranks, root and in_place of the set.
List scale(const ListSet& set, const Problem& problem, int rank);
// Returns the bytes of so many chunks of scratch in that list; UINT64_MAX for more than 64 bits hold.
std::uint64_t scaled_scratch(const ListSet& set, const Problem& problem, std::uint64_t chunks);

}  // namespace lapwing
