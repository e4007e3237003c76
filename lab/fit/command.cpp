// lapwing fit: fits the message costs of a tuning file to the times that it holds, by simulation.
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/values.hpp"
#include "command_line/command_line.hpp"
#include "fit/message_costs.hpp"
#include "laboratory.hpp"
#include "lapwing/common/command.hpp"
#include "lapwing/common/values.hpp"
#include "lapwing/tune/choices.hpp"
#include "lapwing/tune/file.hpp"
#include "plan/tuning.hpp"

namespace lapwing::tool {
namespace {

using Json = nlohmann::ordered_json;

// The costs in "messages" are those of Netgauge's method, or of an earlier fit; then "netgauge" has the former.
void fit_table(Json& table, std::uint64_t burst_bytes) {
    const int ranks = table.at("ranks").at(0);
    std::vector<Measured> measured;
    for (const auto& row : table.at("measured")) measured.push_back(read_measured(row, ranks, nullptr));
    const auto& constants = table.at("machine");
    Machine machine;
    machine.latency = constants.at("latency");
    machine.task = constants.at("task");
    machine.per_byte = constants.at("per_byte");
    machine.copy_per_byte = constants.at("copy_per_byte");
    machine.copy = constants.at("copy");
    limit(machine);
    Json& made = table["made"];
    if (!made.contains("netgauge")) made["netgauge"] = table.at("messages");
    made["burst"] = burst_bytes;
    table["messages"] = to_json(fit_messages(table.at("engine"), measured,
                                             read_messages(made.at("netgauge")), machine, burst_bytes));
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
        throw Error(ErrorCode::unsupported,
                    fmt::format("{} has no table with message costs and measured times of one rank on each of several hosts", path));
    }
    const std::string text = print_tuning_file(file);
    Tuning::parse(text, path);
    NewTuningFile output(path);
    output.write(text);
    fmt::print("fitted {} of {}\n", counted(fitted, "table"), path);
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
