#include "predict/pipeline/study.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/values.hpp"
#include "lapwing/bench/statistics.hpp"
#include "lapwing/common/tables.hpp"
#include "predict/head.hpp"

namespace lapwing::tool {
namespace {

using Json = nlohmann::ordered_json;
using Row = std::vector<std::string>;

// By how much it takes less time than without overlap.
double gain(double blocking, double nonblocking) {
    return blocking > 0 ? 1 - nonblocking / blocking : 0;
}

// What overlap can gain at most, as applications measure it.
double bound(const PredictedPipeline& row) {
    const double both = row.computation + row.communication;
    return both > 0 ? std::min(row.computation, row.communication) / both : 0;
}

// One round for each seed; one where nothing is random.
Json rounds_of(const PredictedPipeline& row) {
    Json rounds = Json::array();
    for (std::size_t i = 0; i < row.nonblocking.size(); ++i) {
        rounds.push_back({{"gain", gain(row.blocking[i], row.nonblocking[i])},
                          {"bound", bound(row)},
                          {"total", row.nonblocking[i]},
                          {"blocking", row.blocking[i]},
                          {"computation", row.computation},
                          {"communication", row.communication}});
    }
    return rounds;
}

std::vector<std::string> left_out(const Study& study, const std::vector<PipelineCase>& cases) {
    std::vector<std::string> found;
    for (const PipelineCase& one : cases) {
        if (!one.left_out.empty()) {
            found.push_back(
                fmt::format("{}, {} ranks: {}", study.pipeline->written, one.ranks, one.left_out));
        }
    }
    return found;
}

}  // namespace

Json as_json(const Study& study, const std::vector<PipelineCase>& cases) {
    Json result = head_of(study);
    result["pipeline"] = {{"name", study.pipeline->name}};
    for (const auto& [name, value] : study.pipeline->values) result["pipeline"][name] = value;
    for (const simulate::Engine* engine : study.engines) {
        result["parameters"][engine->name] = parameters_of(study, all_ranks(study.ranks.front()), *engine);
    }
    Json rows = Json::array();
    for (const PipelineCase& one : cases) {
        for (const PredictedPipeline& row : one.rows) {
            Json head = {{"collective", study.pipeline->name},
                         {"bytes", one.bytes},
                         {"method", "pipeline"},
                         {"parameter", {{"name", "ranks"}, {"value", one.ranks}}},
                         {"tests", row.tests}};
            if (study.tests.size() > 1) {
                head["variant"] = counted(row.tests, "test");
            }
            if (study.disturbed()) head["noise"] = row.noise.empty() ? "none" : row.noise;
            add_row(rows, std::move(head),
                    measurement_of(*row.engine, row.algorithms, row.messages, rounds_of(row)));
        }
    }
    result["rows"] = std::move(rows);
    for (const std::string& one : left_out(study, cases)) result["left_out"].push_back(one);
    return result;
}

std::string as_table(const Study& study, const std::vector<PipelineCase>& cases) {
    std::string text = headline(study);
    for (const simulate::Engine* engine : study.engines) {
        text += line_of(study, all_ranks(study.ranks.front()), *engine);
    }
    std::string values;
    for (const auto& [name, value] : study.pipeline->values) {
        values += fmt::format("{}{}={}", values.empty() ? ": " : ",", name, value);
    }
    text += fmt::format("{}{}\n\n", study.pipeline->name, values);
    const bool sizes =
        std::any_of(cases.begin(), cases.end(), [](const PipelineCase& one) { return one.bytes > 0; });
    Row titles{"ranks"};
    if (sizes) titles.emplace_back("bytes");
    titles.insert(titles.end(), {"engine", "tests"});
    if (study.disturbed()) titles.emplace_back("noise");
    titles.insert(titles.end(),
                  {"computing us", "communicating us", "blocking us", "nonblocking us", "gain %", "bound %"});
    std::vector<Row> rows{titles};
    for (const PipelineCase& one : cases) {
        for (const PredictedPipeline& row : one.rows) {
            Row& cells = rows.emplace_back(Row{std::to_string(one.ranks)});
            if (sizes) cells.push_back(std::to_string(one.bytes));
            cells.insert(cells.end(), {row.engine->name, std::to_string(row.tests)});
            if (study.disturbed()) cells.push_back(row.noise.empty() ? "none" : row.noise);
            const auto median = [](const std::vector<double>& of) {
                return spread(of).at("median").get<double>();
            };
            std::vector<double> gains;
            for (std::size_t i = 0; i < row.nonblocking.size(); ++i) {
                gains.push_back(gain(row.blocking[i], row.nonblocking[i]));
            }
            cells.insert(cells.end(),
                         {microseconds(row.computation), microseconds(row.communication),
                          microseconds(median(row.blocking)), microseconds(median(row.nonblocking)),
                          percent(median(gains)), percent(bound(row))});
        }
    }
    return text + align(rows) + lines_of(left_out(study, cases));
}

}  // namespace lapwing::tool
