// The benchmarks: what rows they have, and what is measured in them. benchmarks.def names them all.
#pragma once

#include <string>
#include <vector>

#include "program/lines.hpp"

namespace lapwing::bench {

struct Benchmark {
    std::vector<RowGroup> (*groups)(Bench& bench);
    bool computes = false;  // and needs bench.operations_per_second
};

// Throws Error (invalid_argument) when there is none of this name.
const Benchmark& find_benchmark(const std::string& name);

}  // namespace lapwing::bench
