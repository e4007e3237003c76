// What each rank does: the same work and the same collective, again and again; and ranks that come late.
#pragma once

#include <cstdint>

#include "simulate/time.hpp"

namespace lapwing::simulate {

// Before a rank starts a collective it loses time that is neither work nor noise.
struct Lateness {
    enum class Kind : std::uint8_t {
        none,
        uniform,  // each rank from nothing to `most`, drawn anew each time
        one       // rank `rank` by `most`, each time
    };
    Kind kind = Kind::none;
    Time most = 0;
    int rank = 0;
    std::uint64_t seed = 1;

    Time of(int rank, int iteration) const;
};

struct Program {
    int iterations = 1;
    Time work = 0;          // in each iteration
    int tests = 0;          // calls of MPI_Test at even distances in the work
    bool beside = true;     // the work is between start and wait; else before the start
    bool together = false;  // no rank begins an iteration before all have ended the one before
    Lateness lateness = {};
};

}  // namespace lapwing::simulate
