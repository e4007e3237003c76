// tests: the overlap by how often the program calls MPI_Test while it computes for the base time (Kandalla et
// al. 2011, Table I).
#include "program/benchmarks.hpp"
#include "program/measure/fixed_time.hpp"

namespace lapwing::bench {
namespace {

std::vector<RowGroup> tests_groups(Bench& bench) {
    return for_each_case(bench, [&bench](Collective collective, std::uint64_t bytes) {
        const auto subjects = make_subjects(bench, make_exchanges(bench, collective, bytes));
        std::vector<Row> rows;
        for (const int tests : bench.settings.tests) {
            Row& row = rows.emplace_back();
            row.head = head(bench, collective, bytes, name(Method::fixed));
            row.head["parameter"] = parameter("tests", tests);
            for (const auto& subject : subjects) {
                row.lines.push_back(std::make_unique<FixedTimeLine>(subject, tests, false));
            }
        }
        return rows;
    });
}

}  // namespace

const Benchmark benchmarks::tests = {tests_groups, true};

}  // namespace lapwing::bench
