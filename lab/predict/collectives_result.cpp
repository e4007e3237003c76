#include "predict/collectives.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/values.hpp"
#include "lapwing/bench/statistics.hpp"
#include "lapwing/common/tables.hpp"
#include "predict/head.hpp"

namespace lapwing::tool {
namespace {

using Json = nlohmann::ordered_json;

double loss(double quiet, double disturbed) {
    return 1 - quiet / disturbed;
}

std::vector<double> losses(double quiet, const std::vector<double>& disturbed) {
    std::vector<double> found;
    for (const double one : disturbed) found.push_back(loss(quiet, one));
    return found;
}

std::string variant_of(const Study& study, const Case& of, const Predicted& row) {
    std::string variant = study.options.algorithms == "chosen" ? "" : print(of.choice);
    if (study.tests.size() > 1) variant += (variant.empty() ? "" : ", ") + counted(row.tests, "test");
    return variant;
}

// One round for each seed; one without seeds where nothing is random.
Json rounds_of(const Predicted& row) {
    Json rounds = Json::array();
    const std::size_t count = std::max<std::size_t>(row.disturbed.size(), 1);
    for (std::size_t i = 0; i < count; ++i) {
        Json sample = {{"base", row.base}};
        if (row.alone) sample["alone"] = *row.alone;
        if (row.total) sample["total"] = *row.total;
        if (row.overlap) sample["overlap"] = *row.overlap;
        if (!row.disturbed.empty()) {
            sample["iteration"] = row.quiet;
            sample["iteration_noise"] = row.disturbed[i];
            sample["loss"] = loss(row.quiet, row.disturbed[i]);
            sample["slowdown"] = row.disturbed[i] / row.quiet;
        }
        if (!row.alone_disturbed.empty()) sample["loss_of_work"] = loss(*row.alone, row.alone_disturbed[i]);
        rounds.push_back(sample);
    }
    return rounds;
}

Columns columns(const Study& study, const Case& of, const Predicted& row) {
    Columns columns{{"collective", name(of.problem.collective)},
                    {"bytes", of.problem.collective == Collective::barrier ? "-" : std::to_string(of.bytes)},
                    {"ranks", std::to_string(of.problem.ranks)},
                    {"algorithm", print(of.choice)},
                    {"engine", row.engine->name}};
    const auto add = [&](const char* title, std::string cell) {
        columns.emplace_back(title, std::move(cell));
    };
    const bool works = study.work > 0 || study.work_factor > 0;
    if (works || study.tests.size() > 1) add("tests", std::to_string(row.tests));
    add("base us", microseconds(row.base));
    if (works) {
        add("total us", row.total ? microseconds(*row.total) : "-");
        add("overlap %", row.overlap ? percent(*row.overlap) : "-");
    }
    if (!study.disturbed()) return columns;
    if (!study.noises.empty()) add("noise", row.noise);
    add("each us", microseconds(row.quiet));
    const auto of_all = spread(losses(row.quiet, row.disturbed));
    add("loss %", percent(of_all.at("median")));
    add("quartiles", fmt::format("{}..{}", percent(of_all.at("q1")), percent(of_all.at("q3"))));
    std::vector<double> slowdowns;
    for (const double one : row.disturbed) slowdowns.push_back(one / row.quiet);
    add("slow-down", fmt::format("{:.3f}", spread(slowdowns).at("median").get<double>()));
    if (works) {
        add("of work alone %", row.alone_disturbed.empty()
                                   ? "-"
                                   : percent(spread(losses(*row.alone, row.alone_disturbed)).at("median")));
    }
    return columns;
}

std::vector<std::string> left_out(const Cases& cases) {
    std::vector<std::string> found = cases.too_large;
    // One line for all ranks and bytes.
    std::vector<std::pair<std::string, std::vector<std::string>>> declined;
    for (const Declined& one : cases.declined) {
        const std::string line =
            fmt::format("{}: {} declines: {}", name(one.problem.collective), print(one.choice), one.why);
        const std::string ranks = std::to_string(one.problem.ranks);
        auto same = std::find_if(declined.begin(), declined.end(),
                                 [&](const auto& other) { return other.first == line; });
        if (same == declined.end()) same = declined.insert(declined.end(), {line, {}});
        if (std::find(same->second.begin(), same->second.end(), ranks) == same->second.end())
            same->second.push_back(ranks);
    }
    for (const auto& [line, ranks] : declined)
        found.push_back(fmt::format("{} ({} ranks)", line, fmt::join(ranks, ", ")));
    return found;
}

}  // namespace

Json as_json(const Study& study, const Cases& cases) {
    Json result = head_of(study, cases.cases.front().problem);
    Json rows = Json::array();
    for (const Case& one : cases.cases) {
        for (const Predicted& row : one.rows) {
            Json head = {{"collective", mpi_name(one.problem.collective)},
                         {"bytes", one.bytes},
                         {"method", "wait"},
                         {"parameter", {{"name", "ranks"}, {"value", one.problem.ranks}}},
                         {"tests", row.tests}};
            if (const std::string variant = variant_of(study, one, row); !variant.empty())
                head["variant"] = variant;
            if (!row.noise.empty()) head["noise"] = row.noise;
            add_row(rows, std::move(head),
                    measurement_of(*row.engine, print(one.choice), row.messages, rounds_of(row)));
        }
    }
    result["rows"] = std::move(rows);
    for (const std::string& one : left_out(cases)) result["left_out"].push_back(one);
    return result;
}

std::string as_table(const Study& study, const Cases& cases) {
    std::vector<Columns> rows;
    for (const Case& one : cases.cases)
        for (const Predicted& row : one.rows) rows.push_back(columns(study, one, row));
    return headline(study, cases.cases.front().problem) + "\n" + align(rows) + lines_of(left_out(cases));
}

}  // namespace lapwing::tool
