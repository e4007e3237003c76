// base: the time of a collective when one follows the other at once, and nothing is computed.
#include "program/benchmarks.hpp"
#include "program/measure/back_to_back.hpp"

namespace lapwing::bench {
namespace {

std::vector<RowGroup> base_groups(Bench& bench) {
    return for_each_case(bench, [&bench](Collective collective, std::uint64_t bytes) {
        std::vector<Row> rows(1);
        rows.front().head = head(bench, collective, bytes, "base");
        const auto exchanges = make_exchanges(bench, collective, bytes);
        for (const std::string& engine : bench.settings.engines) {
            rows.front().lines.push_back(
                std::make_unique<BackToBack>(bench, bench.caller(engine), exchanges, false, "base"));
        }
        return rows;
    });
}

}  // namespace

const Benchmark benchmarks::base = {base_groups};

}  // namespace lapwing::bench
