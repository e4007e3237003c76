// lapwing tune: measures the algorithms on this machine and writes a tuning file for LAPWING_TUNING.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/messages.hpp"
#include "base/output_file.hpp"
#include "base/values.hpp"
#include "collectives/catalogue.hpp"
#include "command_line/command_line.hpp"
#include "engines/catalogue.hpp"
#include "lapwing/common/command.hpp"
#include "lapwing/common/values.hpp"
#include "lapwing/launch/launch.hpp"
#include "lapwing/launch/program.hpp"
#include "lapwing/tune/choices.hpp"
#include "plan/tuning.hpp"

namespace lapwing::tool {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* program_name = "lapwing-tune";

struct Options {
    std::string engines;
    std::string collectives;
    std::string algorithms;
    std::string bytes = "16:1Mi";
    std::string ranks;
    int rounds = 25;
    double seconds = 300;
    std::string output = "lapwing-tuning.json";
    bool add = false;
    std::string mpi;
    bool dry_run = false;
};

// Those among whose algorithms there is a choice.
std::vector<std::string> measurable_collectives() {
    std::vector<std::string> names;
    for (const Collective collective : all_collectives()) {
        if (algorithms_of(collective).size() > 1) names.emplace_back(mpi_name(collective));
    }
    return names;
}

std::string read_measurable(const std::string& written) {
    const std::vector<std::string> names = measurable_collectives();
    const std::string name = mpi_name(read_collective(written));
    if (std::find(names.begin(), names.end(), name) != names.end()) return name;
    throw_invalid(fmt::format("{} has only one algorithm, so there is no choice to measure", name));
}

std::vector<std::string> read_engines(const std::string& written) {
    std::vector<std::string> names;
    std::vector<std::string> usual;
    for (const Engine* engine : engines()) {
        names.emplace_back(engine->name());
        if (!engine->only_by_name()) usual.emplace_back(engine->name());
    }
    if (written.empty()) return usual;
    return read_list("--engine", written,
                     [&](const std::string& word) { return names[pick("--engine", word, names)]; });
}

std::vector<std::uint64_t> read_ranks(const std::string& written) {
    if (written.empty()) return {};
    return read_list("--ranks", written,
                     [](const std::string& word) { return number_in("--ranks", word, 2, max_ranks); });
}

// As written, once it is known to be right.
const std::string& read_algorithms(const std::string& written) {
    named("--algorithm", [&] { RequestedAlgorithms::parse(written); });
    return written;
}

nlohmann::json program_settings(const Options& options) {
    return {{"engines", read_engines(options.engines)},
            {"collectives", options.collectives.empty()
                                ? measurable_collectives()
                                : read_list("--collective", options.collectives, read_measurable)},
            {"algorithms", read_algorithms(options.algorithms)},
            {"bytes", read_blocks(options.bytes)},
            {"ranks", read_ranks(options.ranks)},
            {"rounds", options.rounds},
            {"seconds", options.seconds}};
}

// Each communicator names its engine and its algorithm. Without --engine the job has the network and the
// engines of `lapwing run`.
Settings settings_for(const Options& options, const nlohmann::json& asked) {
    const GivenSetting given[] = {
        {nullptr, &Settings::engine,
         options.engines.empty() ? "auto"
                                 : engine_of_job(asked.at("engines").get<std::vector<std::string>>())},
        {nullptr, &Settings::algorithm, ""},
        {nullptr, &Settings::messages, "off"},
        {nullptr, &Settings::tuning, ""}};
    return checked_settings(given);
}

Json header_of(const nlohmann::json& result) {
    std::vector<std::string> hosts;
    for (const nlohmann::json& host : result.at("hosts")) {
        const std::string one = host.get<std::string>();
        if (std::find(hosts.begin(), hosts.end(), one) == hosts.end()) hosts.push_back(one);
    }
    return {{"hosts", hosts},
            {"time", time_of_day()},
            {"lapwing", LAPWING_VERSION},
            {"mpi", result.at("mpi").get<std::string>()},
            {"kernel", result.at("kernel").get<std::string>()},
            {"more_ranks_than_processors", result.at("more_ranks_than_processors").get<bool>()},
            {"command", own_command_line()}};
}

// Writes the file; false when nothing was measured for an engine that was asked for.
bool conclude(const Options& options, const nlohmann::json& result, Json file, OutputFile& output) {
    bool complete = true;
    std::vector<MeasuredTable> measured;
    std::vector<Json> tables;
    Machine start;
    start.copy_per_byte = std::max(result.at("copy_seconds_per_byte").get<double>(), 1e-12);
    for (MeasuredTable& table : measured_tables(result)) {
        if (!table.instead.empty() && options.engines.empty()) {
            print_message("lapwing tune: on {} ranks, this job does not use the {} engine: not measured\n",
                          table.ranks, table.of.engine);
        } else if (!table.instead.empty()) {
            complete = false;
            print_message("lapwing tune: on {} ranks, the lists ran on {} instead of the {} engine\n",
                          table.ranks, fmt::join(table.instead, ", "), table.of.engine);
        }
        if (table.measured.empty()) continue;
        tables.push_back(table_of_file(table, start, header_of(result)));
        measured.push_back(std::move(table));
    }
    if (tables.empty()) throw Error(ErrorCode::unsupported, "nothing was measured: no file is written");
    put_tables(file, tables);
    const std::string text = file.dump(1) + "\n";
    const Tuning made = Tuning::parse(text, options.output);
    try {
        output.write(text);
        output.close();
    } catch (const std::exception&) {
        fmt::print("{}", text);  // it took minutes to measure
        throw;
    }
    for (const MeasuredTable& table : measured) print_note("{}\n", summary_of(table, made));
    print_note("written to {}; to use it: lapwing run --tuning {} -- ..., or LAPWING_TUNING={}\n",
               options.output, options.output, std::filesystem::absolute(options.output).string());
    return complete;
}

int run(const CommandLine& app, const Options& options, const Words& words) {
    require_words(app, words, "launcher", "lapwing tune", "no launcher", "mpirun -n 2");
    const nlohmann::json asked = program_settings(options);
    const Settings settings = settings_for(options, asked);
    const Starter starter = find_launcher(words.words, options.mpi);
    std::vector<std::string> command = words.words;
    command.push_back(find_mpi_program(program_name, *starter.family));
    command.push_back(asked.dump());
    const Launch launch = arrange(starter, command, settings);
    if (options.dry_run) {
        fmt::print("{}", print(launch));
        return success;
    }
    Json file = {{"lapwing_tuning", 1}, {"tables", Json::array()}};
    if (options.add && std::filesystem::exists(options.output)) {
        Tuning::read(options.output);  // reports the position of an error
        std::ifstream old(options.output, std::ios::binary);
        file = Json::parse(old);
    }
    OutputFile output(options.output, "the tuning file");
    ProgressBar bar(1);
    const ProgramJob job = run_mpi_program(launch, program_name, bar);
    if (job.status != 0 || !job.result) {
        print_message("lapwing tune: {}\n", why_no_result(job.status));
        return violations_found;
    }
    return conclude(options, *job.result, std::move(file), output) ? success : violations_found;
}

void add_options(CommandLine& app, Options& options) {
    app.add_option(
           "--engine", options.engines,
           "Engines to measure: kernel, host, triggered, mlx5 (those of kernel and host that the job uses)")
        ->type_name("E,...");
    app.add_option("--collective", options.collectives,
                   "Collectives (all that have several algorithms); some calls of Ibcast and Ialltoall are "
                   "always measured, for the message costs")
        ->type_name("C,...");
    app.add_option("--algorithm", options.algorithms,
                   "Also measure these, such as iallreduce=file:/home/me/my.lists (see LAPWING_ALGORITHM)")
        ->type_name("A,...");
    app.add_option("--bytes", options.bytes,
                   "Block sizes: 64Ki,256Ki; or 16:1Mi, in steps of factor 4 "
                   "(16:1Mi)")
        ->type_name("N,...");
    app.add_option("--ranks", options.ranks,
                   "Measure groups with these numbers of ranks, such as 2,4,8 (all ranks)")
        ->type_name("P,...");
    app.add_option("--rounds", options.rounds, "Maximum number of rounds through all algorithms (25)")
        ->type_name("N")
        ->range(3, 100000);
    app.add_option("--seconds", options.seconds, "Approximate total time (300)")
        ->type_name("S")
        ->range(0.0, 1e6);
    app.add_option("-o,--output", options.output, "The file (lapwing-tuning.json)")->type_name("FILE");
    app.add_flag("--add", options.add,
                 "Keep the tables that FILE already has for other engines, hosts "
                 "and numbers of ranks");
    add_launch_options(app, options.mpi, options.dry_run, mpis_of_launchers);
}

}  // namespace

Command add_tune(CommandLine& tool, const Words& words) {
    auto options = std::make_shared<Options>();
    CommandLine* app = tool.add_subcommand(
        "tune", "Measure the algorithms on this machine, and write a file that chooses among them");
    app->usage("Usage: lapwing tune [OPTIONS] -- LAUNCHER ARGUMENTS...");
    add_options(*app, *options);
    app->footer(
        "Examples:\n"
        "  lapwing tune -- mpirun -n 16\n"
        "  lapwing tune --ranks 4,8,16 --engine kernel --seconds 900 -o cluster.json -- mpirun -n 16\n"
        "  lapwing tune --engine host --add -o cluster.json -- mpirun -n 2\n"
        "  lapwing run --tuning cluster.json -- mpirun -n 16 ./program\n\n"
        "lapwing appends its own program to the launcher command. Run no other programs meanwhile. The "
        "exit status\n"
        "is 0 if the file is complete, 1 if the job failed or an engine of --engine could not run, 125 if "
        "nothing was started.");
    return {app, [app, options, &words] { return run(*app, *options, words); }, false, true};
}

}  // namespace lapwing::tool
