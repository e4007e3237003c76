// lapwing run: starts an unmodified MPI program with the preload library of its MPI.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <memory>

#include "base/error.hpp"
#include "lapwing/command.hpp"
#include "lapwing/launch.hpp"
#include "lapwing/mpi_family.hpp"
#include "lapwing/process.hpp"
#include "lapwing/values.hpp"

namespace lapwing::tool {
namespace {

// The words behind "--" are not among CLI11's options, so that it cannot name them.
class RunFormatter : public CLI::Formatter {
  public:
    std::string make_usage(const CLI::App*, std::string) const override {
        return "Usage: lapwing run [OPTIONS] -- LAUNCHER ARGUMENTS...\n";
    }
};

struct Options {
    std::string engine;
    std::string algorithm;
    bool blocking = false;
    bool report = false;
    bool json = false;
    std::string report_file;
    std::string mpi;
    bool dry_run = false;
};

// What the environment says, and over it what the options say.
Settings settings_of(const Options& options) {
    Settings settings = read_settings(environ);
    if (!options.engine.empty()) settings.engine = options.engine;
    if (!options.algorithm.empty()) settings.algorithm = options.algorithm;
    if (options.blocking) settings.blocking = "1";
    if (options.json) {
        settings.report = "json";
    } else if (options.report || (!options.report_file.empty() && settings.report == "none")) {
        settings.report = "text";
    }
    if (!options.report_file.empty()) settings.report_file = std::filesystem::absolute(options.report_file);
    check_values(settings);
    return settings;
}

void check_command(const CLI::App& app, const Words& words) {
    const std::vector<std::string> rest = app.remaining();
    if (!rest.empty()) {
        throw Error(
            ErrorCode::invalid_argument,
            fmt::format("'--' is missing before the command: lapwing run -- {}", fmt::join(rest, " ")));
    }
    if (!words.words.empty()) return;
    throw Error(ErrorCode::invalid_argument,
                "no command to run, as in: lapwing run -- mpirun -n 4 ./program");
}

std::string preload_of(const MpiFamily& family) {
    std::vector<std::string> searched;
    const std::optional<std::string> preload = find_preload(family, searched);
    if (!preload) {
        throw Error(ErrorCode::system,
                    fmt::format("{} is not installed: looked in {}; it is built where the MPI's "
                                "compiler wrapper was found",
                                family.preload, fmt::join(searched, ", ")));
    }
    if (preload->find_first_of(" :") != std::string::npos) {
        throw Error(ErrorCode::unsupported,
                    fmt::format("LD_PRELOAD cannot name '{}': its path has a space or a colon", *preload));
    }
    return *preload;
}

Launch arrange(const Options& options, const std::vector<std::string>& words, const Settings& settings) {
    const MpiFamily* wanted = options.mpi.empty() ? nullptr : &find_mpi_family(options.mpi);
    const std::string& word = words.front();
    const std::optional<std::string> path = find_program(word);
    if (!path) {
        throw Error(
            ErrorCode::invalid_argument,
            fmt::format("'{}' is no program{}", word, word.find('/') == std::string::npos ? " on PATH" : ""));
    }
    const Variables variables = variables_to_pass(settings);
    if (const MpiFamily* linked = family_of_program(*path)) {
        return launch_by_environment(words, preload_of(wanted != nullptr ? *wanted : *linked), variables);
    }
    const Launcher launcher = identify_launcher(word, *path);
    if (launcher.family != nullptr) {
        const std::string preload = preload_of(wanted != nullptr ? *wanted : *launcher.family);
        const bool openmpi = launcher.family == &mpi_families().front();
        return openmpi ? launch_by_openmpi(words, preload, variables)
                       : launch_by_hydra(words, preload, variables);
    }
    if (wanted != nullptr) return launch_by_environment(words, preload_of(*wanted), variables);
    throw Error(
        ErrorCode::invalid_argument,
        fmt::format(
            "'{}' is neither a launcher of Open MPI or MPICH nor a program linked to one of them; say "
            "--mpi openmpi or --mpi mpich if it hands its environment to the ranks, and put words "
            "such as 'timeout 60' before lapwing",
            word));
}

int run(const CLI::App& app, const Options& options, const Words& words) {
    const Settings settings = settings_of(options);
    check_command(app, words);
    const Launch launch = arrange(options, words.words, settings);
    if (options.dry_run) {
        fmt::print("{}", print(launch));
        return success;
    }
    std::fflush(nullptr);
    execute(launch);
}

}  // namespace

Command add_run(CLI::App& tool, const Words& words) {
    auto options = std::make_shared<Options>();
    CLI::App* app = tool.add_subcommand("run", "Run an MPI program with its collectives as task lists");
    app->formatter(std::make_shared<RunFormatter>());
    app->get_formatter()->column_width(32);
    app->add_option("--engine", options->engine, "Engine: auto, host, ..., or mpi (LAPWING_ENGINE)")
        ->type_name("E");
    app->add_option("--algorithm", options->algorithm, "As ialltoall=pairwise:window=6,ibcast=binomial")
        ->type_name("SPEC");
    app->add_flag("--blocking", options->blocking, "Take the blocking collectives, too");
    app->add_flag("--report", options->report, "Say at the end what was done, and what was not and why");
    app->add_flag("--json", options->json, "The report as JSON");
    app->add_option("--report-file", options->report_file, "The report goes here, not to standard error")
        ->type_name("FILE");
    app->add_option("--mpi", options->mpi, "openmpi or mpich, when the launcher does not tell")
        ->type_name("M");
    app->add_flag("--dry-run", options->dry_run, "Print the command, do not run it");
    app->footer(
        "Examples:\n"
        "  lapwing run -- mpirun -n 4 ./program\n"
        "  lapwing run --report --algorithm ialltoall=pairwise:window=6 -- mpiexec -n 16 python3 program.py\n"
        "  lapwing run --mpi mpich -- srun -n 64 ./program\n"
        "\nThe launcher's MPI is told by its answer to --version, not by its name. Options count more than "
        "the\n"
        "variables LAPWING_*, which `lapwing info` lists. The exit status is the launcher's; 2 when nothing "
        "was\n"
        "started.");
    app->prefix_command();  // after a word that is no option, nothing is the tool's
    return {app, [app, options, &words] { return run(*app, *options, words); }, false, true};
}

}  // namespace lapwing::tool
