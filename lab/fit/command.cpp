// lapwing fit: fits the message costs of a tuning file to the times that it holds, by simulation.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "base/messages.hpp"
#include "base/output_file.hpp"
#include "base/values.hpp"
#include "command_line/command_line.hpp"
#include "common/simulated_costs.hpp"
#include "common/simulated_iteration.hpp"
#include "laboratory.hpp"
#include "lapwing/common/command.hpp"
#include "lapwing/common/values.hpp"
#include "lapwing/tune/choices.hpp"
#include "lapwing/tune/file.hpp"
#include "plan/fit.hpp"
#include "plan/tuning.hpp"
#include "simulate/simulation.hpp"

namespace lapwing::tool {
namespace {

using Json = nlohmann::ordered_json;

// So that a fit takes seconds.
constexpr std::size_t algorithms_of_a_row = 3;
constexpr std::uint64_t max_messages = 2000;
// As in plan/fit.cpp, which has the cost model in place of the simulation.
constexpr double max_error = 2.0;
constexpr double inertia = 1e-3;
constexpr double first_step = 1.0;
constexpr double last_step = 0.02;
struct Sample {
    simulate::Lists lists;
    double seconds = 0;
    double weight = 1;
};

// Less than this is nothing; what is nothing cannot grow by a ratio. A simulation needs a latency.
double min_of(const NamedCost<MessageCosts>& cost) {
    return cost.per_byte() ? 1e-13 : cost.cost == &MessageCosts::latency ? 1e-9 : 1e-10;
}

std::vector<Sample> samples_of(const std::vector<Measured>& measured) {
    std::vector<Sample> samples;
    for (const Measured& row : measured) {
        if (row.problem.placement != nullptr && row.problem.placement->largest_host() > 1) continue;
        auto fastest = row.seconds;
        std::sort(fastest.begin(), fastest.end(),
                  [](const auto& one, const auto& other) { return one.second < other.second; });
        if (fastest.size() > algorithms_of_a_row) fastest.resize(algorithms_of_a_row);
        for (const auto& [choice, seconds] : fastest) {
            if (!(seconds > 0) || simulate::estimate(row.problem, choice).messages > max_messages) continue;
            samples.push_back({simulate::make_lists(row.problem, choice), seconds, row.best() / seconds});
        }
    }
    return samples;
}

// One of many repetitions, as in the measurement.
constexpr int repetitions = 2;

double simulated_seconds(const Sample& sample, simulate::Setting setting) {
    return seconds_of_iteration(
        {}, setting.parameters.burst_bytes > 0,
        [&](const simulate::Program& program) {
            setting.program = program;
            return simulate::simulate(sample.lists, setting).end();
        },
        repetitions);
}

double loss(const std::vector<Sample>& samples, const simulate::Setting& quiet, const MessageCosts& costs,
            const MessageCosts& start) {
    simulate::Setting setting = quiet;
    set_costs(setting.parameters, costs);
    double sum = 0;
    for (const Sample& sample : samples) {
        const double simulated = simulated_seconds(sample, setting);
        const double error =
            std::min(std::abs(std::log(std::max(simulated, 1e-12) / sample.seconds)), max_error);
        sum += sample.weight * error * error;
    }
    double moved = 0;
    for (const auto& [name, cost] : message_costs) {
        const double ratio = std::log(costs.*cost / start.*cost);
        moved += ratio * ratio;
    }
    return sum / static_cast<double>(samples.size()) + inertia * moved;
}

// By descend(), within the limits.
MessageCosts nearest_costs(const std::vector<Sample>& samples, const simulate::Setting& setting,
                           MessageCosts start) {
    const auto limit = [](MessageCosts& costs, const NamedCost<MessageCosts>& one) {
        costs.*one.cost = std::clamp(costs.*one.cost, min_of(one), max_fitted(one));
    };
    for (const auto& one : message_costs) limit(start, one);
    return descend(start, message_costs, first_step, last_step, limit,
                   [&](const MessageCosts& costs) { return loss(samples, setting, costs, start); });
}

// The costs, starting from `start` or from `machine`, for which an engine's simulated times are nearest to
// the measured ones, as ratios. `machine` has the costs of copies; `burst_bytes` is what links pass at once
// after a pause. Rows of several ranks on a host are left out.
MessageCosts fit_messages(const std::string& engine, const std::vector<Measured>& measured,
                          const MessageCosts& start, const Machine& machine, std::uint64_t burst_bytes) {
    const std::vector<Sample> samples = samples_of(measured);
    if (samples.empty()) return start;
    simulate::Setting setting;
    for (const simulate::Engine& one : simulate::engines()) {
        if (engine == one.name) setting.engine = one;
    }
    setting.parameters = simulate::parameters_of(machine);
    setting.parameters.burst_bytes = burst_bytes;
    setting.drained = burst_bytes > 0;
    set_rendezvous(setting.parameters, setting.engine);
    // What Netgauge's method finds while something disturbs it leads to a minimum that is none; so does,
    // where steps overlap, what the formulas find. The better one is taken.
    const MessageCosts by_method = nearest_costs(samples, setting, start);
    const MessageCosts by_formulas = nearest_costs(samples, setting,
                                                   {.latency = machine.latency,
                                                    .task = machine.task,
                                                    .gap = 0,
                                                    .per_byte = machine.per_byte,
                                                    .task_per_byte = 0});
    return loss(samples, setting, by_method, by_method) <= loss(samples, setting, by_formulas, by_formulas)
               ? by_method
               : by_formulas;
}

// The costs in "messages" are those of Netgauge's method, or of an earlier fit; then "netgauge" has the
// former.
void fit_table(Json& table, std::uint64_t burst_bytes) {
    const int ranks = table.at("ranks").at(0);
    std::vector<Measured> measured;
    for (const auto& row : table.at("measured")) measured.push_back(read_measured(row, ranks, nullptr));
    const auto& constants = table.at("machine");
    Machine machine;
    for (const auto& [name, cost] : machine_costs) {
        if (constants.contains(name)) machine.*cost = constants.at(name);
    }
    limit(machine);
    Json& made = table["made"];
    if (!made.contains("netgauge")) made["netgauge"] = table.at("messages");
    made["burst"] = burst_bytes;
    table["messages"] = to_json(
        fit_messages(table.at("engine"), measured, read_messages(made.at("netgauge")), machine, burst_bytes));
}

int fit_file(const std::string& path, const std::string& burst) {
    const std::uint64_t burst_bytes = burst.empty() ? 0 : read_bytes("--burst", burst);
    Json file = read_tuning_file(path);
    int fitted = 0;
    for (Json& table : file.at("tables")) {
        const bool fits = table.contains("measured") && table.contains("messages") &&
                          table.contains("machine") && table.contains("ranks_per_host") &&
                          table.at("ranks_per_host").at(1) == 1;
        if (!fits) continue;
        fit_table(table, burst_bytes);
        ++fitted;
    }
    if (fitted == 0) {
        throw Error(
            ErrorCode::unsupported,
            fmt::format(
                "{} has no table with message costs and measured times of one rank on each of several hosts",
                path));
    }
    const std::string text = print_tuning_file(file);
    Tuning::parse(text, path);
    write_file(path, text, "the tuning file");
    print_note("fitted {} of {}\n", counted(fitted, "table"), path);
    return success;
}

}  // namespace

Command add_fit(CommandLine& tool) {
    struct Options {
        std::string file;
        std::string burst;
    };
    auto options = std::make_shared<Options>();
    CommandLine* app = tool.add_subcommand(
        "fit", "Fit the message costs of a tuning file to the times measured in it, for predict");
    app->add_option("FILE", options->file, "A file that lapwing tune wrote on several hosts")->required();
    app->add_option("--burst", options->burst,
                    "Burst size of the links in bytes, as of the shaped links of virtual hosts (0)")
        ->type_name("N");
    app->footer(
        "Examples:\n"
        "  lapwing tune -o cluster.json -- mpirun -n 16\n"
        "  lapwing fit cluster.json\n"
        "  lapwing predict ialltoall --ranks 1024 --tuning cluster.json");
    return {app, [options] { return fit_file(options->file, options->burst); }};
}

}  // namespace lapwing::tool
