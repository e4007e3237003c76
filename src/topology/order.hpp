// The order of the ranks of a group in lists. Neighbors in the machine and in the network are next to each
// other.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "topology/location.hpp"

namespace lapwing::topology {

// The location of a rank, exchanged by an allgather of plain bytes.
struct RankLocation {
    std::uint64_t host = 0;        // equal for the ranks of one host
    std::int32_t host_index = -1;  // in the HostOrder; -1: none
    // As in Location; -1 also if the rank is not bound to one part of that kind.
    std::int32_t package = -1;
    std::int32_t node = -1;
    std::int32_t cache = -1;
    std::int32_t core = -1;
    std::int32_t thread = -1;
};

RankLocation rank_location(std::uint64_t host, int host_index, const Location& location);

// Returns all ranks, host by host. The hosts of the HostOrder come first, in its order, then the others in
// the order of their first ranks. Ranks of a host are sorted by package, NUMA node, cache, core and hardware
// thread, then by rank.
std::vector<int> order_of(std::span<const RankLocation> locations);

// Returns the package, the NUMA node and the last-level cache of each rank, as levels of a Placement. Ranks
// that are not bound to one part of a kind are a group as well.
std::vector<std::vector<std::uint64_t>> groups_of(std::span<const RankLocation> locations);

}  // namespace lapwing::topology
