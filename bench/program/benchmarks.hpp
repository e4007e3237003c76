// The benchmarks, one file each: what rows they have, and what is measured in them.
#pragma once

#include <vector>

#include "program/measure/row.hpp"

namespace lapwing::bench {

struct Benchmark {
    const char* name;
    std::vector<RowGroup> (*groups)(Bench& bench);
    bool computes;  // and needs bench.operations_per_second
};

// Throws Error (invalid_argument) when there is none of this name.
const Benchmark& find_benchmark(const std::string& name);

std::vector<RowGroup> base_groups(Bench& bench);
std::vector<RowGroup> concurrent_groups(Bench& bench);
std::vector<RowGroup> connections_groups(Bench& bench);
std::vector<RowGroup> latency_groups(Bench& bench);
std::vector<RowGroup> noise_groups(Bench& bench);
std::vector<RowGroup> overhead_groups(Bench& bench);
std::vector<RowGroup> overlap_groups(Bench& bench);
std::vector<RowGroup> tests_groups(Bench& bench);
std::vector<RowGroup> throughput_groups(Bench& bench);
std::vector<RowGroup> total_groups(Bench& bench);
std::vector<RowGroup> window_groups(Bench& bench);

}  // namespace lapwing::bench
