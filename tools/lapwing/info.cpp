// lapwing info: the version, what this machine can run, the variables and the algorithms.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/json_schema.hpp"
#include "collectives/catalogue.hpp"
#include "command_line/command_line.hpp"
#include "engines/catalogue.hpp"
#include "lapwing/common/command.hpp"
#include "lapwing/common/tables.hpp"
#include "lapwing/common/this_host.hpp"
#include "lapwing/common/values.hpp"
#include "lapwing/mpi/survey.hpp"
#include "links/fabrics.hpp"

namespace lapwing::tool {
namespace {

using Json = nlohmann::ordered_json;

std::string value_of(const SettingRow& row) {
    const char* value = std::getenv(row.variable);
    return value != nullptr && *value != '\0' ? value : row.usual;
}

std::string shown(const std::string& value) {
    return value.empty() ? "(empty)" : value;
}

// The error in the variables LAPWING_*; empty if they are valid.
std::string wrong_variable() {
    try {
        checked_settings();
        return "";
    } catch (const Error& error) {
        return error.what();
    }
}

// Whether a progress thread advances lists inside a host.
bool has_progress_thread() {
    const char* const variable = std::getenv("LAPWING_PROGRESS_THREAD");
    return variable != nullptr && *variable != '\0' && std::string_view(variable) != "none" &&
           std::string_view(variable) != "auto";
}

// The networks of libraries, as one process finds them.
Json networks_as_json() {
    Json rows = Json::array();
    for (const FabricKind& kind : fabrics()) {
        try {
            const std::unique_ptr<Fabric> fabric = kind.open({});
            rows.push_back({{"name", kind.name},
                            {"available", true},
                            {"rdma", fabric->rdma()},
                            {"description", fabric->description()}});
        } catch (const Error& error) {
            rows.push_back(
                {{"name", kind.name}, {"available", false}, {"rdma", false}, {"reason", error.what()}});
        }
    }
    return rows;
}

void print_networks() {
    fmt::print("\nbetween hosts (LAPWING_NETWORK)\n");
    std::vector<std::vector<std::string>> rows;
    std::string first;
    for (const Json& network : networks_as_json()) {
        const std::string name = network.at("name");
        const bool available = network.at("available");
        const bool rdma = network.at("rdma");
        rows.push_back({name,
                        !available ? "unavailable"
                        : rdma     ? "RDMA"
                                   : "no RDMA",
                        network.at(available ? "description" : "reason")});
        if (rdma && first.empty()) first = name;
    }
    fmt::print("{}  auto takes {}\n", align(rows),
               first.empty()
                   ? "tcp, with the kernel engine if it is available, otherwise with a progress thread"
                   : first + " if all ranks have it");
}

Json variables_as_json() {
    Json rows = Json::array();
    for (const SettingRow& row : setting_rows()) {
        rows.push_back({{"name", row.variable},
                        {"default", row.usual},
                        {"value", value_of(row)},
                        {"meaning", row.meaning}});
    }
    return rows;
}

Json algorithms_as_json() {
    Json rows = Json::array();
    for (const Algorithm* algorithm : catalogue()) {
        Json parameters = Json::array();
        for (const Parameter& parameter : algorithm->parameters) {
            parameters.push_back({{"name", parameter.name},
                                  {"meaning", parameter.meaning},
                                  {"default", parameter.default_value},
                                  {"least", parameter.min},
                                  {"most", parameter.max}});
        }
        rows.push_back({{"collective", name(algorithm->collective)},
                        {"name", algorithm->name},
                        {"summary", algorithm->summary},
                        {"knows_hosts", algorithm->knows_hosts},
                        {"source", algorithm->source},
                        {"parameters", parameters}});
    }
    return rows;
}

void print_engines() {
    fmt::print("\nengines\n");
    std::vector<std::vector<std::string>> rows;
    std::string reasons;
    for (const Json& engine : engines_as_json(engines())) {
        const std::string name = engine.at("name");
        const std::string reason = engine.value("reason", "");
        rows.push_back({name, reason.empty() ? "available" : "unavailable", engine.at("summary")});
        if (!reason.empty()) reasons += fmt::format("  {} is unavailable: {}\n", name, reason);
    }
    const shm::Survey host = survey_shared_memory();
    fmt::print("{}{}\ninside a host\n  {}\n", align(rows), reasons, host.shared_memory);
    for (const shm::TransferTimes& times : host.times) fmt::print("  {}\n", shm::in_words(times));
    fmt::print("  progress by the {}\n",
               has_progress_thread()
                   ? "progress thread, and the program's MPI calls (LAPWING_PROGRESS_THREAD)"
                   : "caller: the program's MPI calls (LAPWING_PROGRESS_THREAD=any adds a progress thread)");
}

void print_mpi() {
    fmt::print("\nMPI\n");
    for (const Json& found : survey_mpi()) {
        const auto line = [](const char* key, const std::string& value) {
            fmt::print("    {:<9} {}\n", key, value);
        };
        const Json& libraries = found.at("libraries");
        const Json& launchers = found.at("launchers");
        const Json& preload = found.at("preload");
        fmt::print("  {}{}\n", found.value("title", ""),
                   libraries.empty() && launchers.empty() ? ": not found" : "");
        for (const Json& library : libraries)
            line("library", fmt::format("{}  ({})", library.value("path", ""), library.value("version", "")));
        for (const Json& launcher : launchers)
            line(
                "launcher",
                fmt::format("{}  ({})", fmt::join(launcher.at("paths").get<std::vector<std::string>>(), ", "),
                            launcher.value("version", "")));
        line("preload", preload.is_string()
                            ? preload.get<std::string>()
                            : fmt::format("{} is not installed", find_mpi_family(found.at("name")).preload));
    }
}

void print_variable(const SettingRow& row) {
    const std::string value = value_of(row);
    fmt::print("  {:<20} {}{}\n", row.variable, shown(value),
               value == row.usual ? "  (default)" : fmt::format("  (default: {})", shown(row.usual)));
}

void print_variables() {
    fmt::print("variables\n");
    for (const SettingRow& row : setting_rows()) {
        print_variable(row);
        fmt::print("  {:<20} {}\n", "", row.meaning);
    }
}

void print_changed_variables() {
    fmt::print("\nvariables\n");
    bool changed = false;
    for (const SettingRow& row : setting_rows()) {
        if (value_of(row) == row.usual) continue;
        print_variable(row);
        changed = true;
    }
    if (!changed) fmt::print("  all have their defaults\n");
    fmt::print(
        "\n`lapwing info --variables` explains the {} variables, `lapwing info --algorithms` the {} "
        "algorithms.\n",
        setting_rows().size(), catalogue().size());
}

void print_algorithms() {
    fmt::print("algorithms\n");
    for (const Algorithm* algorithm : catalogue()) {
        fmt::print("  {} {}: {}\n    {}\n", name(algorithm->collective), algorithm->name, algorithm->summary,
                   algorithm->source);
        for (const Parameter& parameter : algorithm->parameters) {
            fmt::print("    {}: {} ({} to {}, default {})\n", parameter.name, parameter.meaning,
                       parameter.min, parameter.max, parameter.default_value);
        }
    }
}

enum class Topic { all, algorithms, variables };

Json as_json(Topic topic) {
    Json all;
    all["schema"] = json_schema;
    all["version"] = LAPWING_VERSION;
    if (topic == Topic::all) {
        all["engines"] = engines_as_json(engines());
        const shm::Survey host = survey_shared_memory();
        all["inside_a_host"] = host.shared_memory;
        all["long_messages_inside_a_host"] = Json::array();
        for (const shm::TransferTimes& times : host.times) {
            all["long_messages_inside_a_host"].push_back(
                {{"bytes", times.max_bytes},
                 {"chosen", shm::name(times.chosen)},
                 {"pieces_microseconds", times.nanoseconds[0] * 1e-3},
                 {"kernel_microseconds", times.nanoseconds[1] * 1e-3}});
        }
        all["progress_inside_a_host"] = has_progress_thread() ? "thread" : "caller";
        all["networks"] = networks_as_json();
        all["mpi"] = survey_mpi();
    }
    if (topic != Topic::algorithms) all["variables"] = variables_as_json();
    if (topic != Topic::variables) all["algorithms"] = algorithms_as_json();
    return all;
}

int info(bool json, Topic topic) {
    if (json) {
        fmt::print("{}\n", as_json(topic).dump(2, ' ', false, Json::error_handler_t::replace));
    } else if (topic == Topic::algorithms) {
        print_algorithms();
    } else if (topic == Topic::variables) {
        print_variables();
    } else {
        fmt::print("lapwing {}\n", LAPWING_VERSION);
        print_engines();
        print_networks();
        print_mpi();
        print_changed_variables();
    }
    // Last, because a user may run this command to find the invalid variable.
    const std::string wrong = wrong_variable();
    if (!wrong.empty()) throw_invalid(wrong);
    return success;
}

}  // namespace

Command add_info(CommandLine& tool) {
    struct Options {
        bool json = false;
        bool algorithms = false;
        bool variables = false;
    };
    auto options = std::make_shared<Options>();
    CommandLine* app =
        tool.add_subcommand("info", "Show engines, networks, MPIs and variables of this machine");
    app->add_flag("--algorithms", options->algorithms,
                  "List the algorithms with their papers and parameters");
    app->add_flag("--variables", options->variables, "List the LAPWING_* variables with value and meaning");
    app->add_flag("--json", options->json, "Print JSON");
    app->footer(
        "Examples:\n"
        "  lapwing info\n"
        "  lapwing info --variables\n"
        "  lapwing info --algorithms\n"
        "  lapwing info --json\n\n"
        "The exit status is 125 if a LAPWING_* variable is unknown or has an invalid value.");
    return {app, [options] {
                if (options->algorithms && options->variables)
                    throw_invalid("use either --algorithms or --variables, not both");
                return info(options->json, options->algorithms  ? Topic::algorithms
                                           : options->variables ? Topic::variables
                                                                : Topic::all);
            }};
}

}  // namespace lapwing::tool
