// throughput: matrix products alone, and beside a collective that is started before and waited for after them
// (Kandalla et al. 2011, "Designing Non-blocking Broadcast").
#include "program/benchmarks.hpp"
#include "program/measure/work_beside.hpp"

namespace lapwing::bench {
namespace {

std::vector<RowGroup> throughput_groups(Bench& bench) {
    return for_each_case(bench, [&bench](Collective collective, std::uint64_t bytes) {
        const auto subjects = make_subjects(bench, make_exchanges(bench, collective, bytes));
        std::vector<Row> rows;
        for (const int tests : bench.settings.tests) {
            Row& row = rows.emplace_back();
            row.head = head(bench, collective, bytes, "throughput");
            row.head["variant"] = variant_of_tests(tests);
            for (const auto& subject : subjects) {
                row.lines.push_back(std::make_unique<WorkLine>(
                    subject, Amount{bench.settings.work_factor, tests, true, subjects}));
            }
        }
        return rows;
    });
}

}  // namespace

const Benchmark benchmarks::throughput = {throughput_groups, true};

}  // namespace lapwing::bench
