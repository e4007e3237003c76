// The task list: one rank's part of one collective, a straight line of tasks read from top to bottom.
// It is the multiple work request (MWR) of CORE-Direct (Graham et al. 2010, section III-A).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "task/problem.hpp"
#include "task/task.hpp"

namespace lapwing {

struct List {
    int rank = 0;
    int ranks = 1;
    std::uint64_t in_bytes = 0;  // size of each space; every span lies inside its space
    std::uint64_t out_bytes = 0;
    std::uint64_t scratch_bytes = 0;
    std::vector<Task> tasks;

    bool operator==(const List&) const = default;
    std::uint64_t bytes(Space space) const {
        return space == Space::in ? in_bytes : space == Space::out ? out_bytes : scratch_bytes;
    }
};

// The sizes that lists in chunks are for: bytes of a block.
struct ChunkSizes {
    std::uint64_t min_bytes = 0;
    std::uint64_t max_bytes = UINT64_MAX;

    bool operator==(const ChunkSizes&) const = default;
};

// A part of a list file: the lists of all ranks of a group, and their problem.
struct ListSet {
    Problem problem;
    std::string algorithm;    // that built the lists; empty if unknown. Word characters and ":=./-" only
    std::vector<List> lists;  // one per rank, in rank order
    // If set, the lists are in chunks: a block has `problem.bytes` chunks, every span counts chunks, and
    // reductions are of one-byte elements. scale() (task/scaling.hpp) gives them a size.
    std::optional<ChunkSizes> chunks = {};

    bool operator==(const ListSet&) const = default;
};

}  // namespace lapwing
