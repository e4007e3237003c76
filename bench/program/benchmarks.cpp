#include "program/benchmarks.hpp"

#include "base/error.hpp"

namespace lapwing::bench {
namespace {

constexpr Benchmark benchmarks[] = {
    {"base", base_groups, false},
    {"concurrent", concurrent_groups, true},
    {"connections", connections_groups, false},
    {"latency", latency_groups, false},
    {"noise", noise_groups, true},
    {"overhead", overhead_groups, true},
    {"overlap", overlap_groups, true},
    {"tests", tests_groups, true},
    {"throughput", throughput_groups, true},
    {"total", total_groups, true},
    {"window", window_groups, false},
};

}  // namespace

const Benchmark& find_benchmark(const std::string& name) {
    for (const Benchmark& benchmark : benchmarks) {
        if (name == benchmark.name) return benchmark;
    }
    throw Error(ErrorCode::invalid_argument, "'" + name + "' is no benchmark of this program");
}

}  // namespace lapwing::bench
