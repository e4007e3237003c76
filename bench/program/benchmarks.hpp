// The benchmarks, one file each in benchmarks/: what rows they have, and what is measured in them.
// benchmarks.def names them all.
#pragma once

#include <string>
#include <vector>

#include "program/measure/row.hpp"

namespace lapwing::bench {

struct Benchmark {
    std::vector<RowGroup> (*groups)(Bench& bench);
    bool computes = false;  // and needs bench.operations_per_second
};

namespace benchmarks {
#define LAPWING_BENCHMARK(name, ...) extern const Benchmark name;
#define LAPWING_BENCHMARK_BY(name, program, ...)
#include "program/benchmarks.def"
}  // namespace benchmarks

// Throws Error (invalid_argument) when there is none of this name.
const Benchmark& find_benchmark(const std::string& name);

}  // namespace lapwing::bench
