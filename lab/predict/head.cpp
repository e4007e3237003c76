#include "predict/head.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/json_schema.hpp"
#include "lapwing/bench/statistics.hpp"
#include "lapwing/common/tables.hpp"
#include "lapwing/launch/program.hpp"
#include "predict/network.hpp"

namespace lapwing::tool {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* model = "LogGP, over the task lists";
constexpr std::size_t max_told = 8;

Json parameters_of(const Study& study, const Problem& problem, const simulate::Engine& engine) {
    std::string where;
    const simulate::Parameters parameters = study.parameters(engine, problem, &where);
    Json json = {{"of", where}};
    for (const Constant& constant : all_constants()) json[constant.name] = constant.seconds(parameters);
    if (parameters.rendezvous_bytes != UINT64_MAX) json["rendezvous_bytes"] = parameters.rendezvous_bytes;
    if (parameters.window_bytes != UINT64_MAX) json["window_bytes"] = parameters.window_bytes;
    return json;
}

std::string line_of(const Study& study, const Problem& problem, const simulate::Engine& engine) {
    std::string where;
    const simulate::Parameters parameters = study.parameters(engine, problem, &where);
    const std::string& constants = study.options.constants;
    return fmt::format(
        "{}, {}: latency {:.2f} us, task {:.2f} us, {:.4g} ns a byte{} ({}{})\n", engine.name, engine.meaning,
        simulate::to_seconds(parameters.latency) * 1e6, simulate::to_seconds(parameters.overhead) * 1e6,
        parameters.per_byte / 1e3,
        parameters.gap > 0 ? fmt::format(", gap {:.2f} us", simulate::to_seconds(parameters.gap) * 1e6) : "",
        where, constants.empty() ? "" : "; " + constants);
}

}  // namespace

Json head_of(const Study& study, const Problem& problem) {
    Json result = {{"schema", json_schema},
                   {"benchmark", "predict"},
                   {"simulated", true},
                   {"model", model},
                   {"lapwing", LAPWING_VERSION},
                   {"time", time_of_day()},
                   {"command", own_command_line()},
                   {"network", study.network.shape},
                   {"ranks_per_host", study.network.ranks_per_host},
                   {"placement", fmt::format("{}{}", study.network.random_places ? "random" : "in-order",
                                             study.lists_follow_hosts ? "-known" : "")},
                   {"tuning", study.tuning_file.empty() ? "shipped" : study.tuning_file}};
    result["costs"] = {{"wake_up", simulate::to_seconds(study.costs.wake_up)},
                       {"hop", simulate::to_seconds(study.network.hop)}};
    if (study.options.inner.any()) {
        result["numa"] = study.options.inner.nodes;
        result["caches"] = study.options.inner.caches;
    }
    if (study.disturbed()) {
        result["iterations"] = study.options.iterations;
        result["seed"] = study.options.seed;
        if (!study.options.late.empty()) result["late"] = study.options.late;
    }
    for (const simulate::Engine* engine : study.engines)
        result["parameters"][engine->name] = parameters_of(study, problem, *engine);
    return result;
}

Json measurement_of(const simulate::Engine& engine, const std::string& algorithm, std::uint64_t messages,
                    Json rounds) {
    Json found = {{"engine", engine.name}, {"used", engine.name}, {"confirmed", true}};
    if (!algorithm.empty()) found["algorithm"] = algorithm;
    found["messages"] = messages;
    Json summary;
    for (const auto& [quantity, first] : rounds.front().items()) {
        std::vector<double> values;
        for (const Json& round : rounds) values.push_back(round.at(quantity));
        summary[quantity] = spread(values);
    }
    found["rounds"] = std::move(rounds);
    found["summary"] = std::move(summary);
    return found;
}

void add_row(Json& rows, Json head, Json measurement) {
    const auto same = std::find_if(rows.begin(), rows.end(), [&](const Json& row) {
        return std::all_of(head.items().begin(), head.items().end(), [&](const auto& field) {
            return row.contains(field.key()) && row.at(field.key()) == field.value();
        });
    });
    Json& row = same != rows.end() ? *same : rows.emplace_back(std::move(head));
    row["engines"].push_back(std::move(measurement));
}

std::string headline(const Study& study, const Problem& problem) {
    const auto network = make_network(study.network, study.ranks.back());
    const std::string& late = study.options.late;
    std::string text = fmt::format("Simulated, not measured: {}; network {}{}\n", model,
                                   network == nullptr ? "flat" : network->what(),
                                   late.empty() ? "" : fmt::format("; late {}", late));
    for (const simulate::Engine* engine : study.engines) text += line_of(study, problem, *engine);
    return text;
}

std::string align(const std::vector<Columns>& rows) {
    if (rows.empty()) return {};
    std::vector<std::vector<std::string>> table(1);
    for (const auto& [title, cell] : rows.front()) table.front().push_back(title);
    for (const Columns& row : rows) {
        std::vector<std::string>& cells = table.emplace_back();
        for (const auto& [title, cell] : row) cells.push_back(cell);
    }
    return align(table);
}

std::string lines_of(const std::vector<std::string>& left_out) {
    std::string text;
    for (std::size_t i = 0; i < left_out.size() && i < max_told; ++i)
        text += fmt::format("{}left out: {}\n", i == 0 ? "\n" : "", left_out[i]);
    if (left_out.size() > max_told) text += fmt::format("and {} more\n", left_out.size() - max_told);
    return text;
}

std::string microseconds(double seconds) {
    const double value = seconds * 1e6;
    return fmt::format("{:.{}f}", value, value < 10 ? 3 : value < 1000 ? 1 : 0);
}

std::string percent(double share) {
    return fmt::format("{:.1f}", share * 100);
}

}  // namespace lapwing::tool
