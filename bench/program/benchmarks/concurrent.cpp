// concurrent: several collectives in flight at once, and computation beside them for as long as they take
// alone (Kandalla et al. 2011, Figure 10).
#include "program/benchmarks.hpp"
#include "program/measure/fixed_time.hpp"

namespace lapwing::bench {
namespace {

std::vector<RowGroup> concurrent_groups(Bench& bench) {
    return for_each_case(bench, [&bench](Collective collective, std::uint64_t bytes) {
        std::vector<Row> rows;
        for (const int count : bench.settings.collectives_at_once) {
            for (Row& row : fixed_time_rows(bench, collective, bytes, count)) {
                row.head["parameter"] = parameter("collectives", count);
                rows.push_back(std::move(row));
            }
        }
        return rows;
    });
}

}  // namespace

const Benchmark benchmarks::concurrent = {concurrent_groups, true};

}  // namespace lapwing::bench
