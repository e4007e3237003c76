#include "program/measure/row.hpp"

#include "program/mpi/traffic.hpp"

namespace lapwing::bench {

nlohmann::json Line::json() const {
    nlohmann::json result = describe();
    result["rounds"] = rounds_;
    return result;
}

void SubjectLine::keep(const char* what, std::vector<double> seconds) {
    subject_->bench().slowest(seconds);
    sample_[what] = mean(seconds);
}

nlohmann::json SubjectLine::describe() const {
    return {
        {"engine", subject_->engine()}, {"used", subject_->used()}, {"iterations", subject_->iterations()}};
}

nlohmann::json head(const Bench& bench, Collective collective, std::uint64_t bytes,
                    const std::string& method) {
    const Traffic traffic = traffic_of(collective, bytes, bench.rank, bench.ranks, 0);
    return {{"collective", mpi_name(collective)},
            {"bytes", bytes},
            {"method", method},
            {"busiest_bytes", bench.slowest(static_cast<double>(traffic.bytes()))}};
}

nlohmann::json parameter(const char* name, double value) {
    return {{"name", name}, {"value", value}};
}

std::string variant_of_tests(int tests) {
    return tests == 0 ? "no tests" : tests == 1 ? "1 test" : std::to_string(tests) + " tests";
}

std::vector<std::uint64_t> sizes_of(const Settings& settings, Collective collective) {
    return collective == Collective::barrier ? std::vector<std::uint64_t>{0} : settings.bytes;
}

std::vector<RowGroup> for_each_case(const Bench& bench,
                                    const std::function<std::vector<Row>(Collective, std::uint64_t)>& rows) {
    std::vector<RowGroup> groups;
    for (const Collective collective : bench.settings.collectives) {
        for (const std::uint64_t bytes : sizes_of(bench.settings, collective)) {
            groups.emplace_back([=] { return rows(collective, bytes); });
        }
    }
    return groups;
}

nlohmann::json measure(const Bench& bench, const std::vector<Row>& rows) {
    std::vector<Line*> lines;
    for (const Row& row : rows) {
        for (const auto& line : row.lines) lines.push_back(line.get());
        if (row.plain) lines.push_back(row.plain.get());
    }
    std::vector<std::function<void()>> phases;
    for (Line* line : lines) {
        line->warm_up();
        for (auto& phase : line->phases()) phases.push_back(std::move(phase));
    }
    run_rounds(
        bench, phases,
        [&] {
            for (Line* line : lines) line->begin_round();
        },
        [&] {
            for (Line* line : lines) line->end_round();
        });
    nlohmann::json result = nlohmann::json::array();
    for (const Row& row : rows) {
        nlohmann::json one = row.head;
        one["engines"] = nlohmann::json::array();
        for (const auto& line : row.lines) one["engines"].push_back(line->json());
        if (row.plain) one["plain"] = row.plain->json();
        result.push_back(std::move(one));
    }
    return result;
}

}  // namespace lapwing::bench
