// overhead: what of a collective cannot be hidden, the time that the program spends in start, tests and wait
// while it does work that takes longer than the collective (NBCBench; Kaiser et al. 2009, Figure 3).
#include <algorithm>
#include <limits>

#include "program/benchmarks.hpp"
#include "program/measure/work_beside.hpp"

namespace lapwing::bench {
namespace {

int tests_for(const Settings& settings, std::uint64_t bytes) {
    if (settings.bytes_per_test == 0) return 0;
    constexpr std::uint64_t most = std::numeric_limits<int>::max() - 1;
    return static_cast<int>(std::min(bytes / settings.bytes_per_test, most));
}

std::vector<RowGroup> overhead_groups(Bench& bench) {
    return for_each_case(bench, [&bench](Collective collective, std::uint64_t bytes) {
        const Amount amount{bench.settings.work_factor, tests_for(bench.settings, bytes)};
        std::vector<Row> rows(1);
        rows.front().head = head(bench, collective, bytes, "overhead");
        rows.front().head["tests"] = amount.tests;
        for (const auto& subject : make_subjects(bench, make_exchanges(bench, collective, bytes))) {
            rows.front().lines.push_back(std::make_unique<WorkLine>(subject, amount));
        }
        return rows;
    });
}

}  // namespace

const Benchmark benchmarks::overhead = {overhead_groups, true};

}  // namespace lapwing::bench
