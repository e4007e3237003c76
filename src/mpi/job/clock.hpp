// How far this host's clock is from that of rank 0's host.
#pragma once

#include <cstdint>

namespace lapwing {

struct ClockReading {
    std::uint64_t at = 0;     // by this host's clock, nanoseconds
    std::int64_t offset = 0;  // to be added to this host's clock for that of rank 0's host
    std::uint64_t error = 0;  // `offset` is wrong by no more: half the shortest round trip
    int host_leader = 0;      // the lowest rank of this host
};

class RankLocations;

// Collective over MPI_COMM_WORLD, whose places are known. Ranks of one host have one clock.
// Gives back the MPI's error code.
int read_clock(const RankLocations& locations, ClockReading* reading);

}  // namespace lapwing
