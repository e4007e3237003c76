// total: the time of a collective together with computation of its base time, beside that time (Kandalla et
// al. 2011, Figure 9).
#include "program/benchmarks.hpp"
#include "program/measure/fixed_time.hpp"

namespace lapwing::bench {
namespace {

std::vector<RowGroup> total_groups(Bench& bench) {
    return for_each_case(bench, [&bench](Collective collective, std::uint64_t bytes) {
        return fixed_time_rows(bench, collective, bytes, 1);
    });
}

}  // namespace

const Benchmark benchmarks::total = {total_groups, true};

}  // namespace lapwing::bench
