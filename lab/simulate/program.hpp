// The program of all ranks: iterations of start, work and wait; and the lateness of ranks.
#pragma once

#include <cstdint>

#include "simulate/time.hpp"

namespace lapwing::simulate {

// Time that a rank loses before each iteration, apart from work and noise.
struct Lateness {
    enum class Kind : std::uint8_t {
        none,
        uniform,  // each rank from 0 to `max`, at random for each iteration
        one       // rank `rank` by `max` in each iteration
    };
    Kind kind = Kind::none;
    Time max = 0;
    int rank = 0;
    std::uint64_t seed = 1;

    Time of(int rank, int iteration) const;
};

struct Program {
    int iterations = 1;
    Time work = 0;  // between the start of the collective and the wait
    int tests = 0;  // calls of MPI_Test, evenly spaced in the work
    Lateness lateness = {};
};

}  // namespace lapwing::simulate
