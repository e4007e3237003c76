// The settings of the MPI program of `lapwing tune`: one JSON object as the only argument.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "plan/selection.hpp"
#include "task/problem.hpp"

namespace lapwing::tune {

struct Settings {
    std::vector<std::string> engines;
    std::vector<Collective> collectives;
    RequestedAlgorithms algorithms;  // that are measured beside those of the catalogue
    std::vector<std::uint64_t> bytes;
    std::vector<int> ranks;  // sizes of the groups that are measured; empty: all ranks
    int rounds = 0;          // at most
    double seconds = 0;      // that all of it is to take, about; at least three rounds are measured
};

// Throws std::exception for anything that `lapwing tune` does not write.
Settings read_settings(const char* text);

}  // namespace lapwing::tune
