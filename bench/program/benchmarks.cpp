#include "program/benchmarks.hpp"

#include "base/error.hpp"

namespace lapwing::bench {

const Benchmark& find_benchmark(const std::string& name) {
#define LAPWING_BENCHMARK(row, ...) \
    if (name == #row) return benchmarks::row;
#define LAPWING_BENCHMARK_BY(row, program, ...)
#include "program/benchmarks.def"
    throw Error(ErrorCode::invalid_argument, "'" + name + "' is not a benchmark of this program");
}

}  // namespace lapwing::bench
