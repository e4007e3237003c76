#include "lapwing/predict/result.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "lapwing/bench/statistics.hpp"
#include "lapwing/common/tables.hpp"
#include "lapwing/launch/program.hpp"
#include "lapwing/predict/network.hpp"

namespace lapwing::tool {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* model = "LogGP, over the task lists";
constexpr std::size_t most_told = 8;

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
        variant +=
            fmt::format("{}{} test{}", variant.empty() ? "" : ", ", row.tests, row.tests == 1 ? "" : "s");
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

Json measurement_of(const Case& of, const Predicted& row) {
    Json engine = {{"engine", row.engine->name},    {"used", row.engine->name}, {"confirmed", true},
                   {"algorithm", print(of.choice)}, {"messages", row.messages}, {"rounds", rounds_of(row)}};
    Json& summary = engine["summary"];
    for (const auto& [quantity, first] : engine["rounds"].front().items()) {
        std::vector<double> values;
        for (const Json& sample : engine["rounds"]) values.push_back(sample.at(quantity));
        summary[quantity] = spread(values);
    }
    return engine;
}

Json parameters_of(const Study& study, const Case& of, const simulate::Engine& engine) {
    std::string where;
    const simulate::Parameters parameters = study.parameters(engine, of.problem, &where);
    using simulate::to_seconds;
    Json json = {{"of", where},
                 {"latency", to_seconds(parameters.latency)},
                 {"task", to_seconds(parameters.overhead)},
                 {"gap", to_seconds(parameters.gap)},
                 {"per_byte", parameters.per_byte * 1e-12},
                 {"task_per_byte", parameters.overhead_per_byte * 1e-12},
                 {"copy", to_seconds(parameters.copy)},
                 {"copy_per_byte", parameters.copy_per_byte * 1e-12},
                 {"intra_node_latency", to_seconds(parameters.near_latency)},
                 {"intra_node_task", to_seconds(parameters.near_overhead)},
                 {"intra_node_per_byte", parameters.near_per_byte * 1e-12}};
    if (parameters.rendezvous_bytes != UINT64_MAX) json["rendezvous_bytes"] = parameters.rendezvous_bytes;
    if (parameters.window_bytes != UINT64_MAX) json["window_bytes"] = parameters.window_bytes;
    if (parameters.burst_bytes > 0) json["burst_bytes"] = parameters.burst_bytes;
    return json;
}

std::string network_of(const Study& study, int ranks) {
    const auto network = make_network(study.network, ranks);
    return network == nullptr ? "flat" : network->what();
}

std::string microseconds(double seconds) {
    const double value = seconds * 1e6;
    return fmt::format("{:.{}f}", value, value < 10 ? 3 : value < 1000 ? 1 : 0);
}

std::string percent(double share) {
    return fmt::format("{:.1f}", share * 100);
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
    row.insert(row.end(), {"each us", "loss %", "quartiles"});
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
    Json result = {{"benchmark", "predict"},
                   {"simulated", true},
                   {"model", model},
                   {"rules", study.rules == simulate::Rules::loggopsim ? "loggopsim" : "lapwing"},
                   {"lapwing", LAPWING_VERSION},
                   {"time", time_of_day()},
                   {"command", own_command_line()},
                   {"network", study.network.shape},
                   {"ranks_per_host", study.network.ranks_per_host},
                   {"placement", !study.network.random_places ? "in-order"
                                 : study.lists_follow_hosts   ? "random-known"
                                                              : "random"},
                   {"tuning", study.tuning_file.empty() ? "shipped" : study.tuning_file}};
    for (const simulate::Engine* engine : study.engines) {
        const auto case_of = std::find_if(cases.cases.begin(), cases.cases.end(), [&](const Case& one) {
            return std::find(one.engines.begin(), one.engines.end(), engine) != one.engines.end();
        });
        if (case_of == cases.cases.end()) continue;
        result["parameters"][engine->name] = parameters_of(study, *case_of, *engine);
    }
    result["costs"] = {{"wake_up", simulate::to_seconds(study.costs.wake_up)},
                       {"taken", study.costs.taken},
                       {"test", simulate::to_seconds(study.costs.test)},
                       {"hop", simulate::to_seconds(study.network.hop)}};
    if (study.disturbed()) {
        result["iterations"] = study.iterations;
        result["seed"] = study.seed;
        if (!study.late.empty()) result["late"] = study.late;
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
            // Engines stand side by side.
            const auto same = std::find_if(rows.begin(), rows.end(), [&](const Json& row) {
                return std::all_of(head.items().begin(), head.items().end(), [&](const auto& field) {
                    return row.contains(field.key()) && row.at(field.key()) == field.value();
                });
            });
            Json& row = same != rows.end() ? *same : rows.emplace_back(std::move(head));
            row["engines"].push_back(measurement_of(one.of, predicted_row));
        }
    }
    result["rows"] = std::move(rows);
    for (const std::string& one : left_out(cases, predicted)) result["left_out"].push_back(one);
    return result;
}

std::string as_table(const Study& study, const Cases& cases, const std::vector<PredictedCase>& predicted) {
    std::string text = fmt::format("Simulated, not measured: {}; network {}{}\n", model,
                                   network_of(study, study.ranks.back()),
                                   study.late.empty() ? "" : fmt::format("; late {}", study.late));
    for (const simulate::Engine* engine : study.engines) {
        std::string where;
        const simulate::Parameters parameters =
            study.parameters(*engine, predicted.front().of.problem, &where);
        text += fmt::format("{}, {}: latency {:.2f} us, task {:.2f} us, {:.4g} ns a byte{} ({}{})\n",
                            engine->name, engine->meaning, simulate::to_seconds(parameters.latency) * 1e6,
                            simulate::to_seconds(parameters.overhead) * 1e6, parameters.per_byte / 1e3,
                            parameters.gap > 0
                                ? fmt::format(", gap {:.2f} us", simulate::to_seconds(parameters.gap) * 1e6)
                                : "",
                            where, study.constants.empty() ? "" : "; " + study.constants);
    }
    std::vector<Row> rows{titles(study)};
    for (const PredictedCase& one : predicted) {
        for (const Predicted& row : one.rows) rows.push_back(cells(study, one.of, row));
    }
    text += "\n" + align(rows);
    const std::vector<std::string> missing = left_out(cases, predicted);
    for (std::size_t i = 0; i < missing.size() && i < most_told; ++i) {
        text += fmt::format("{}left out: {}\n", i == 0 ? "\n" : "", missing[i]);
    }
    if (missing.size() > most_told) text += fmt::format("and {} more\n", missing.size() - most_told);
    return text;
}

}  // namespace lapwing::tool
