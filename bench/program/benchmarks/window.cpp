// window: the latency of the pairwise all-to-all by the number of exchanges that are in flight (Kandalla et
// al. 2011, Figure 6). The native MPI has no such setting; it is measured beside each.
#include <fmt/format.h>

#include <algorithm>

#include "program/benchmarks.hpp"
#include "program/measure/back_to_back.hpp"

namespace lapwing::bench {
namespace {

// A rank exchanges with the others only: a longer window equals one for all of them.
std::vector<int> different_windows(const Bench& bench) {
    std::vector<int> windows;
    for (const int window : bench.settings.windows) windows.push_back(std::min(window, bench.ranks - 1));
    std::sort(windows.begin(), windows.end());
    windows.erase(std::unique(windows.begin(), windows.end()), windows.end());
    return windows;
}

std::vector<RowGroup> window_groups(Bench& bench) {
    return for_each_case(bench, [&bench](Collective collective, std::uint64_t bytes) {
        std::vector<Row> rows;
        const auto exchanges = make_exchanges(bench, collective, bytes);
        for (const int window : different_windows(bench)) {
            Row& row = rows.emplace_back();
            row.head = head(bench, collective, bytes, "latency");
            row.head["parameter"] = parameter("window", window);
            const std::string algorithm = fmt::format("ialltoall=pairwise:window={}", window);
            for (const std::string& engine : bench.settings.engines) {
                row.lines.push_back(std::make_unique<BackToBack>(bench, bench.caller(engine, algorithm),
                                                                 exchanges, false, "latency"));
            }
        }
        return rows;
    });
}

}  // namespace

const Benchmark benchmarks::window = {window_groups};

}  // namespace lapwing::bench
