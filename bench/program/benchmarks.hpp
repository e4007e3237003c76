// The benchmarks, one file each: what rows they have, and what is measured in them.
#pragma once

#include <vector>

#include "row.hpp"

namespace lapwing::bench {

struct Benchmark {
    const char* name;
    std::vector<Group> (*groups)(Bench& bench);
    bool computes;  // and needs bench.operations_per_second
};

// Throws Error (invalid_argument) when there is none of this name.
const Benchmark& find_benchmark(const std::string& name);

std::vector<Group> base_groups(Bench& bench);
std::vector<Group> concurrent_groups(Bench& bench);
std::vector<Group> connections_groups(Bench& bench);
std::vector<Group> latency_groups(Bench& bench);
std::vector<Group> noise_groups(Bench& bench);
std::vector<Group> overhead_groups(Bench& bench);
std::vector<Group> overlap_groups(Bench& bench);
std::vector<Group> tests_groups(Bench& bench);
std::vector<Group> throughput_groups(Bench& bench);
std::vector<Group> total_groups(Bench& bench);
std::vector<Group> window_groups(Bench& bench);

}  // namespace lapwing::bench
