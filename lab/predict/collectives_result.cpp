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
    std::string variant = study.algorithms == "chosen" ? "" : print(of.choice);
    if (study.tests.size() > 1) {
        variant += (variant.empty() ? "" : ", ") + counted(row.tests, "test");
    }
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

using Row = std::vector<std::string>;

Row titles(const Study& study) {
    Row row{"collective", "bytes", "ranks", "algorithm", "engine"};
    const bool works = study.work > 0 || study.work_factor > 0;
    if (works || study.tests.size() > 1) row.emplace_back("tests");
    row.emplace_back("base us");
    if (works) row.insert(row.end(), {"total us", "overlap %"});
    if (!study.disturbed()) return row;
    if (!study.noises.empty()) row.emplace_back("noise");
    row.insert(row.end(), {"each us", "loss %", "quartiles", "slow-down"});
    if (works) row.emplace_back("of work alone %");
    return row;
}

Row cells(const Study& study, const Case& of, const Predicted& row) {
    Row cells{name(of.problem.collective),
              of.problem.collective == Collective::barrier ? "-" : std::to_string(of.bytes),
              std::to_string(of.problem.ranks), print(of.choice), row.engine->name};
    const bool works = study.work > 0 || study.work_factor > 0;
    if (works || study.tests.size() > 1) cells.push_back(std::to_string(row.tests));
    cells.push_back(microseconds(row.base));
    if (works) {
        cells.push_back(row.total ? microseconds(*row.total) : "-");
        cells.push_back(row.overlap ? percent(*row.overlap) : "-");
    }
    if (!study.disturbed()) return cells;
    if (!study.noises.empty()) cells.push_back(row.noise);
    cells.push_back(microseconds(row.quiet));
    const auto of_all = spread(losses(row.quiet, row.disturbed));
    cells.push_back(percent(of_all.at("median")));
    cells.push_back(fmt::format("{}..{}", percent(of_all.at("q1")), percent(of_all.at("q3"))));
    std::vector<double> slowdowns;
    for (const double one : row.disturbed) slowdowns.push_back(one / row.quiet);
    cells.push_back(fmt::format("{:.3f}", spread(slowdowns).at("median").get<double>()));
    if (works) {
        cells.push_back(row.alone_disturbed.empty()
                            ? "-"
                            : percent(spread(losses(*row.alone, row.alone_disturbed)).at("median")));
    }
    return cells;
}

std::vector<std::string> left_out(const Cases& cases, const std::vector<PredictedCase>& predicted) {
    std::vector<std::string> found = cases.too_large;
    for (const PredictedCase& one : predicted) {
        if (!one.left_out.empty()) found.push_back(fmt::format("{}: {}", what(one.of), one.left_out));
    }
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
    for (const auto& [line, ranks] : declined) {
        found.push_back(fmt::format("{} ({} ranks)", line, fmt::join(ranks, ", ")));
    }
    return found;
}

}  // namespace

Json as_json(const Study& study, const Cases& cases, const std::vector<PredictedCase>& predicted) {
    Json result = head_of(study);
    for (const simulate::Engine* engine : study.engines) {
        const auto case_of = std::find_if(cases.cases.begin(), cases.cases.end(), [&](const Case& one) {
            return std::find(one.engines.begin(), one.engines.end(), engine) != one.engines.end();
        });
        if (case_of == cases.cases.end()) continue;
        result["parameters"][engine->name] = parameters_of(study, case_of->problem, *engine);
    }
    Json rows = Json::array();
    for (const PredictedCase& one : predicted) {
        for (const Predicted& predicted_row : one.rows) {
            Json head = {{"collective", mpi_name(one.of.problem.collective)},
                         {"bytes", one.of.bytes},
                         {"method", "wait"},
                         {"parameter", {{"name", "ranks"}, {"value", one.of.problem.ranks}}},
                         {"tests", predicted_row.tests}};
            if (const std::string variant = variant_of(study, one.of, predicted_row); !variant.empty()) {
                head["variant"] = variant;
            }
            if (!predicted_row.noise.empty()) head["noise"] = predicted_row.noise;
            add_row(rows, std::move(head),
                    measurement_of(*predicted_row.engine, print(one.of.choice), predicted_row.messages,
                                   rounds_of(predicted_row)));
        }
    }
    result["rows"] = std::move(rows);
    for (const std::string& one : left_out(cases, predicted)) result["left_out"].push_back(one);
    return result;
}

std::string as_table(const Study& study, const Cases& cases, const std::vector<PredictedCase>& predicted) {
    std::string text = headline(study);
    for (const simulate::Engine* engine : study.engines) {
        text += line_of(study, predicted.front().of.problem, *engine);
    }
    std::vector<Row> rows{titles(study)};
    for (const PredictedCase& one : predicted) {
        for (const Predicted& row : one.rows) rows.push_back(cells(study, one.of, row));
    }
    text += "\n" + align(rows);
    text += lines_of(left_out(cases, predicted));
    return text;
}

}  // namespace lapwing::tool
