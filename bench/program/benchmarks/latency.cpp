// latency: a tight loop of the blocking collective, and one of start and wait (Graham et al. 2010, Figures 4
// and 5; Kandalla et al. 2011, Figure 7). Each form has a communicator of its own, so that what Lapwing says
// of it is about this form.
#include "program/benchmarks.hpp"
#include "program/measure/back_to_back.hpp"

namespace lapwing::bench {
namespace {

std::vector<RowGroup> latency_groups(Bench& bench) {
    return for_each_case(bench, [&bench](Collective collective, std::uint64_t bytes) {
        std::vector<Row> rows;
        const auto exchanges = make_exchanges(bench, collective, bytes);
        for (const std::string& form : bench.settings.forms) {
            const bool blocking = form == "blocking";
            Row& row = rows.emplace_back();
            row.head = head(bench, collective, bytes, "latency");
            row.head["variant"] = form;
            for (const std::string& engine : bench.settings.engines) {
                row.lines.push_back(std::make_unique<BackToBack>(bench, bench.caller(engine, "", form),
                                                                 exchanges, blocking, "latency"));
            }
        }
        return rows;
    });
}

}  // namespace

const Benchmark benchmarks::latency = {latency_groups};

}  // namespace lapwing::bench
