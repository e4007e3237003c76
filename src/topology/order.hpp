// The order in which lists go through the ranks of a group: neighbours in the machine and in the network
// stand next to each other.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "topology/location.hpp"

namespace lapwing::topology {

// What each rank tells the others of where it is. Plain bytes of a fixed size, to be sent by an allgather.
struct RankLocation {
    std::uint64_t host = 0;        // equal for the ranks of one host
    std::int32_t host_place = -1;  // of the host in the HostOrder; -1: it has none
    // As in Location.
    std::int32_t package = -1;
    std::int32_t node = -1;
    std::int32_t cache = -1;
    std::int32_t core = -1;
    std::int32_t thread = -1;
};

RankLocation rank_location(std::uint64_t host, int host_place, const Location& location);

// All ranks, host by host. Hosts with a place in the HostOrder come first, by that; the others in the order
// of their first ranks. Inside a host: by package, NUMA node, cache, core and hardware thread; ranks for
// which these are the same, as when nobody is bound, by their numbers.
std::vector<int> order_of(std::span<const RankLocation> locations);

}  // namespace lapwing::topology
