// Exchanges between neighbours in a grid of all ranks, with blocks of one length along each dimension.
#pragma once

#include <array>
#include <optional>
#include <span>

#include "simulate/recorded/layout.hpp"
#include "task/problem.hpp"

namespace lapwing::simulate {

struct HaloRule {
    GridRule grid;
    bool around = false;  // the ends of a line are neighbours
    // On the largest of the recorded grids: its ranks, and the bytes along each dimension.
    int ranks = 0;
    std::array<std::uint64_t, 3> bytes = {};
    bool cut = false;  // the blocks are faces of a whole that the grid cuts into parts

    // The same exchange on `ranks` ranks. The blocks are as the grid cuts them, or `factor` times as long.
    Problem problem(const Problem& recorded, int ranks, double factor) const;
};

// Returns the first rule that the neighbours of all problems follow, in a grid of so many dimensions; 0: of
// any. Blocks without bytes are no neighbours.
std::optional<HaloRule> find_halo_rule(std::span<const Problem* const> problems, int dimensions = 0);

}  // namespace lapwing::simulate
