// overlap: what part of a collective hides behind computation, by waiting and by polling (Graham et al. 2010,
// Figures 6 and 7), and for a fixed time (Kandalla et al. 2011, Figures 5 and 8).
#include <algorithm>

#include "program/benchmarks.hpp"
#include "program/measure/fixed_time.hpp"
#include "program/measure/limit.hpp"
#include "program/measure/polled.hpp"
#include "program/measure/work_beside.hpp"
#include "program/mpi/traffic.hpp"

namespace lapwing::bench {
namespace {

std::unique_ptr<Line> line_of(Method method, std::shared_ptr<Subject> subject, double base_times) {
    switch (method) {
        case Method::poll:
            return std::make_unique<PolledLine>(std::move(subject));
        case Method::fixed:
            return std::make_unique<FixedTimeLine>(std::move(subject), 0, true);
        case Method::wait:
            break;
    }
    return std::make_unique<WorkLine>(std::move(subject), Amount{base_times});
}

// By steps the wait method has a row for each share of the base time that is filled with work.
std::vector<Row> rows_of(Bench& bench, Collective collective, std::uint64_t bytes, Method method) {
    const bool by_steps = method == Method::wait && !bench.settings.work_shares.empty();
    const auto subjects = make_subjects(bench, make_exchanges(bench, collective, bytes));
    std::vector<Row> rows;
    for (const double share :
         by_steps ? bench.settings.work_shares : std::vector<double>{bench.settings.work_factor}) {
        Row& row = rows.emplace_back();
        row.head = head(bench, collective, bytes, name(method));
        if (by_steps) row.head["parameter"] = parameter("work_share", share);
        for (const auto& subject : subjects) row.lines.push_back(line_of(method, subject, share));
    }
    if (bench.plain && !by_steps) {
        rows.front().plain =
            std::make_unique<LimitLine>(bench, traffic_of(collective, bytes, bench.rank, bench.ranks, 0));
    }
    return rows;
}

// For each collective, its methods one after the other.
struct Case {
    Collective collective;
    Method method;
    std::uint64_t bytes;
};

std::vector<Case> cases_of(const Settings& settings) {
    std::vector<Case> cases;
    for (const Collective collective : settings.collectives) {
        for (const Method method : settings.methods) {
            for (const std::uint64_t bytes : sizes_of(settings, collective)) {
                cases.push_back({collective, method, bytes});
            }
        }
    }
    return cases;
}

std::vector<RowGroup> overlap_groups(Bench& bench) {
    std::vector<RowGroup> groups;
    std::uint64_t most = 1;
    for (const Case& one : cases_of(bench.settings)) {
        most = std::max(most, traffic_of(one.collective, one.bytes, bench.rank, bench.ranks, 0).longest());
        groups.emplace_back([&bench, one] { return rows_of(bench, one.collective, one.bytes, one.method); });
    }
    // What sleeps has no processor time that could be stolen.
    if (bench.settings.limit && bench.settings.compute == Compute::work) {
        bench.plain = std::make_unique<Plain>(*bench.mesh, most);
    }
    return groups;
}

}  // namespace

const Benchmark benchmarks::overlap = {overlap_groups, true};

}  // namespace lapwing::bench
