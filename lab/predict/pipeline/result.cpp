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

}  // namespace

Json as_json(const Study& study, const std::vector<PipelineCase>& cases) {
    Json result = head_of(study, all_ranks(study.ranks.front()));
    result["pipeline"] = {{"name", study.pipeline->name}};
    for (const auto& [name, value] : study.pipeline->values) result["pipeline"][name] = value;
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
    for (const std::string& one : left_out_of(cases)) result["left_out"].push_back(one);
    return result;
}

std::string as_table(const Study& study, const std::vector<PipelineCase>& cases) {
    std::string text = headline(study, all_ranks(study.ranks.front()));
    std::string values;
    for (const auto& [name, value] : study.pipeline->values) {
        values += fmt::format("{}{}={}", values.empty() ? ": " : ",", name, value);
    }
    text += fmt::format("{}{}\n\n", study.pipeline->name, values);
    const auto median = [](const std::vector<double>& of) { return spread(of).at("median").get<double>(); };
    std::vector<Columns> rows;
    for (const PipelineCase& one : cases) {
        for (const PredictedPipeline& row : one.rows) {
            Columns& columns = rows.emplace_back(Columns{{"ranks", std::to_string(one.ranks)}});
            if (one.bytes > 0) columns.emplace_back("bytes", std::to_string(one.bytes));
            columns.emplace_back("engine", row.engine->name);
            columns.emplace_back("tests", std::to_string(row.tests));
            if (study.disturbed()) columns.emplace_back("noise", row.noise.empty() ? "none" : row.noise);
            std::vector<double> gains;
            for (std::size_t i = 0; i < row.nonblocking.size(); ++i) {
                gains.push_back(gain(row.blocking[i], row.nonblocking[i]));
            }
            columns.insert(columns.end(), {{"computing us", microseconds(row.computation)},
                                           {"communicating us", microseconds(row.communication)},
                                           {"blocking us", microseconds(median(row.blocking))},
                                           {"nonblocking us", microseconds(median(row.nonblocking))},
                                           {"gain %", percent(median(gains))},
                                           {"bound %", percent(bound(row))}});
        }
    }
    return text + align(rows) + lines_of(left_out_of(cases));
}

}  // namespace lapwing::tool
