// lapwing info: the version, what this machine can run, and every variable and algorithm.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>

#include "base/error.hpp"
#include "collectives/catalogue.hpp"
#include "command_line/command_line.hpp"
#include "engines/catalogue.hpp"
#include "lapwing/common/command.hpp"
#include "lapwing/common/tables.hpp"
#include "lapwing/common/this_host.hpp"
#include "lapwing/common/values.hpp"
#include "lapwing/mpi/survey.hpp"
#include "links/fabrics.hpp"
#include "task/parts.hpp"
#include "task/sample.hpp"

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

// What is wrong with the variables LAPWING_*; empty if they are fine.
std::string wrong_variable() {
    try {
        check_values(read_settings(environ));
        return "";
    } catch (const Error& error) {
        return error.what();
    }
}

// What makes lists progress inside a host while the program computes.
bool has_progress_thread() {
    const char* const variable = std::getenv("LAPWING_PROGRESS_THREAD");
    return variable != nullptr && *variable != '\0' && std::string_view(variable) != "none" &&
           std::string_view(variable) != "auto";
}

// A network that a library gives, as far as one process can tell.
struct FoundNetwork {
    const char* name;
    bool available;
    bool rdma;
    std::string words;  // what it is, or why there is none
};
std::vector<FoundNetwork> networks() {
    std::vector<FoundNetwork> all;
    for (const FabricKind& kind : fabrics()) {
        try {
            const std::unique_ptr<Fabric> fabric = kind.open({});
            all.push_back({kind.name, true, fabric->rdma(), fabric->description()});
        } catch (const Error& error) {
            all.push_back({kind.name, false, false, error.what()});
        }
    }
    return all;
}

Json networks_as_json() {
    Json rows = Json::array();
    for (const FoundNetwork& network : networks()) {
        rows.push_back({{"name", network.name}, {"available", network.available}, {"rdma", network.rdma}});
        rows.back()[network.available ? "description" : "reason"] = network.words;
    }
    return rows;
}

void print_networks() {
    fmt::print("\nbetween hosts (LAPWING_NETWORK)\n");
    std::vector<std::vector<std::string>> rows;
    std::string first;
    for (const FoundNetwork& network : networks()) {
        rows.push_back({network.name,
                        !network.available ? "unavailable"
                        : network.rdma     ? "RDMA"
                                           : "no RDMA",
                        network.words});
        if (network.rdma && first.empty()) first = network.name;
    }
    fmt::print("{}  auto takes {}\n", align(rows),
               first.empty()
                   ? "tcp, with the kernel engine where it is available, else with a progress thread"
                   : first + ", where all ranks have it");
}

Json mpi_as_json() {
    Json rows = Json::array();
    for (const FoundMpi& found : survey_mpi()) {
        Json libraries = Json::array();
        for (const FoundLibrary& library : found.libraries) {
            libraries.push_back({{"path", library.path}, {"version", library.version}});
        }
        Json launchers = Json::array();
        for (const FoundLauncher& launcher : found.launchers) {
            launchers.push_back({{"paths", launcher.paths}, {"version", launcher.version}});
        }
        rows.push_back({{"name", found.family->name},
                        {"title", found.family->title},
                        {"libraries", libraries},
                        {"launchers", launchers},
                        {"preload", found.preload ? Json(*found.preload) : Json()}});
    }
    return rows;
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
    for (const Engine* engine : engines()) {
        const Verdict verdict = engine->available();
        rows.push_back({engine->name(), verdict ? "available" : "unavailable", engine->summary()});
        if (!verdict) reasons += fmt::format("  {} is unavailable: {}\n", engine->name(), verdict.reason());
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
    for (const FoundMpi& found : survey_mpi()) {
        const auto line = [](const char* key, const std::string& value) {
            fmt::print("    {:<9} {}\n", key, value);
        };
        fmt::print("  {}{}\n", found.family->title,
                   found.libraries.empty() && found.launchers.empty() ? ": not found" : "");
        for (const FoundLibrary& library : found.libraries) {
            line("library", fmt::format("{}  ({})", library.path, library.version));
        }
        for (const FoundLauncher& launcher : found.launchers) {
            line("launcher", fmt::format("{}  ({})", fmt::join(launcher.paths, ", "), launcher.version));
        }
        line("preload",
             found.preload ? *found.preload : fmt::format("{} is not installed", found.family->preload));
    }
}

void print_variables() {
    fmt::print("\nvariables\n");
    for (const SettingRow& row : setting_rows()) {
        const std::string value = value_of(row);
        fmt::print("  {:<20} {}{}\n  {:<20} {}\n", row.variable, shown(value),
                   value == row.usual ? "  (default)" : fmt::format("  (default: {})", shown(row.usual)), "",
                   row.meaning);
    }
}

void print_algorithms(bool details) {
    fmt::print("{}algorithms\n", details ? "" : "\n");
    if (!details) {
        std::vector<std::vector<std::string>> rows;
        for (const Algorithm* algorithm : catalogue()) {
            rows.push_back({name(algorithm->collective),
                            print(Choice{algorithm, default_parameters(*algorithm)}), algorithm->summary});
        }
        fmt::print("{}", align(rows));
        return;
    }
    for (const Algorithm* algorithm : catalogue()) {
        fmt::print("  {} {}: {}\n    {}\n", name(algorithm->collective), algorithm->name, algorithm->summary,
                   algorithm->source);
        for (const Parameter& parameter : algorithm->parameters) {
            fmt::print("    {}: {} ({} to {}, default {})\n", parameter.name, parameter.meaning,
                       parameter.min, parameter.max, parameter.default_value);
        }
    }
}

// Whether an engine runs an algorithm's lists, of short blocks on eight ranks; in a job, where a rank may
// know its own blocks only.
Verdict runs(const Engine& engine, const Algorithm& algorithm) {
    constexpr int ranks = 8;
    const Choice choice{&algorithm, default_parameters(algorithm)};
    const auto sample = algorithm.knows_hosts ? sample_problems_on_hosts : sample_problems;
    EngineOptions options;
    options.trigger_entries = 1024;
    Verdict verdict = Verdict::no("it applies to no such problem");
    for (Problem& problem : sample(algorithm.collective, ranks, 8)) {
        if (!algorithm.applies(problem, choice.parameters)) continue;
        const auto list_of = [&](int rank) { return build(problem, rank, choice); };
        Problem known = problem;
        known.parts.resize(std::min<std::size_t>(known.parts.size(), 1));
        verdict = engine.accepts(with_parts_of_all(known), list_of, options);
        for (int rank = 0; rank < ranks && verdict; ++rank) verdict = engine.supports(list_of(rank));
        if (verdict) break;
    }
    return verdict;
}

// For each engine, how much of the catalogue it runs, and what it declines.
void print_shares() {
    fmt::print("\nalgorithms that an engine runs (8 ranks, short blocks)\n");
    for (const Engine* engine : engines()) {
        std::size_t count = 0;
        std::map<std::string, std::set<std::string>> declined;  // collectives, by reason
        for (const Algorithm* algorithm : catalogue()) {
            if (const Verdict verdict = runs(*engine, *algorithm))
                ++count;
            else
                declined[verdict.reason()].insert(name(algorithm->collective));
        }
        fmt::print("  {}: {} of {}\n", engine->name(), count, catalogue().size());
        for (const auto& [reason, collectives] : declined)
            fmt::print("    not {}: {}\n", fmt::join(collectives, ", "), reason);
    }
}

int info(bool json, bool algorithms_only) {
    if (json) {
        Json all;
        all["version"] = LAPWING_VERSION;
        if (!algorithms_only) {
            all["engines"] = engines_as_json();
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
            all["mpi"] = mpi_as_json();
            all["variables"] = variables_as_json();
        }
        all["algorithms"] = algorithms_as_json();
        fmt::print("{}\n", all.dump(2, ' ', false, Json::error_handler_t::replace));
    } else if (algorithms_only) {
        print_algorithms(true);
        print_shares();
    } else {
        fmt::print("lapwing {}\n", LAPWING_VERSION);
        print_engines();
        print_networks();
        print_mpi();
        print_variables();
        print_algorithms(false);
    }
    // Everything is shown even if a variable is wrong: the user may be looking for just that.
    const std::string wrong = wrong_variable();
    if (!wrong.empty()) throw Error(ErrorCode::invalid_argument, wrong);
    return success;
}

}  // namespace

Command add_info(CommandLine& tool) {
    struct Options {
        bool json = false;
        bool algorithms = false;
    };
    auto options = std::make_shared<Options>();
    CommandLine* app = tool.add_subcommand("info", "Show engines, MPIs, variables and algorithms");
    app->add_flag("--algorithms", options->algorithms,
                  "Only the algorithms, with source and parameters, and how many of them each engine runs");
    app->add_flag("--json", options->json, "As JSON");
    app->footer(
        "Examples:\n"
        "  lapwing info\n"
        "  lapwing info --algorithms\n"
        "  lapwing info --json\n"
        "\nThe exit status is 2 when a variable LAPWING_* is unknown or has an invalid value.");
    return {app, [options] { return info(options->json, options->algorithms); }};
}

}  // namespace lapwing::tool
