// lapwing run: starts an unmodified MPI program with the preload library of its MPI.
#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>

#include "base/error.hpp"
#include "base/messages.hpp"
#include "base/output_file.hpp"
#include "command_line/command_line.hpp"
#include "lapwing/common/command.hpp"
#include "lapwing/common/setting_options.hpp"
#include "lapwing/launch/job.hpp"
#include "lapwing/launch/launch.hpp"
#include "lapwing/launch/report_file.hpp"
#include "lapwing/timeline/timeline.hpp"

namespace lapwing::tool {
namespace {

struct Options {
    SettingOptions settings;
    bool report = false;
    bool json = false;
    std::string output;
    std::string trace;
    std::string mpi;
    bool dry_run = false;
};

Settings settings_of(const Options& options) {
    Settings settings = tool::settings_of(options.settings);
    require_output_of_json(options.json, options.output);
    if (options.report || (!options.output.empty() && settings.report == "none")) settings.report = "text";
    if (options.json) settings.report = "json";
    if (!options.output.empty()) settings.report_file = std::filesystem::absolute(options.output);
    if (!options.trace.empty()) settings.trace = std::filesystem::absolute(options.trace).string() + ".parts";
    return settings;
}

// Makes one timeline of the recordings of the job's ranks. Returns the job's status, or another one if no
// rank began.
int collect_timeline(JobDirectory& recordings, const std::string& file, int status) {
    try {
        const std::vector<RankPart> parts = read_trace_parts(recordings.path());
        const bool no_rank_began = std::filesystem::is_empty(recordings.path());
        if (!parts.empty()) write_timeline(parts, std::filesystem::absolute(file));
        if (!parts.empty() || no_rank_began) {
            for (const std::string& remark : remarks_on_timeline(parts))
                print_message("{}: {}\n", file, remark);
        }
        if (no_rank_began && status == 0) return not_started << 8;
    } catch (const std::exception& error) {
        recordings.keep();
        print_message("lapwing run: {}; the ranks' recordings are in {}\n", error.what(), recordings.path());
    }
    return status;
}

// Waits for the job and then collects its files.
int run_and_wait(const Starter& starter, const Words& words, Settings settings, const std::string& trace) {
    int status = 0;
    {
        std::optional<ReportFile> report;
        if (settings.report != "none") settings.report_mark = report.emplace(settings.report_file).mark();
        std::optional<JobDirectory> recordings;
        if (!trace.empty()) {
            const OutputFile timeline(std::filesystem::absolute(trace), "the timeline");
            settings.trace = recordings.emplace(timeline.target() + ".parts").path();
        }
        leave_guard({report ? &report->directory() : nullptr, recordings ? &*recordings : nullptr});
        status = run_job(arrange(starter, words.words, settings));
        if (recordings) status = collect_timeline(*recordings, trace, status);
        if (report && !report->check(status != 0) && status == 0) status = not_started << 8;
    }
    return end_as(status);
}

int run(const CommandLine& app, const Options& options, const Words& words) {
    const Settings settings = settings_of(options);
    require_words(app, words, "command", "lapwing run", "no command to run", "mpirun -n 2 ./program");
    const Starter starter = find_starter(words.words, options.mpi);
    if ((settings.report != "none" || !options.trace.empty()) && !options.dry_run)
        return run_and_wait(starter, words, settings, options.trace);
    const Launch launch = arrange(starter, words.words, settings);
    if (options.dry_run) {
        fmt::print("{}", print(launch));
        return success;
    }
    std::fflush(nullptr);
    execute(launch);
}

}  // namespace

Command add_run(CommandLine& tool, const Words& words) {
    auto options = std::make_shared<Options>();
    CommandLine* app = tool.add_subcommand("run",
                                           "Run an MPI program so that its nonblocking collectives and "
                                           "large messages progress while it computes");
    app->usage("Usage: lapwing run [OPTIONS] -- LAUNCHER ARGUMENTS...");
    add_setting_options(*app, options->settings);
    app->begin_group("Output");
    app->add_flag("--report", options->report,
                  "At the end, print which calls Lapwing ran, which it left to the MPI, and why");
    app->add_flag("--json", options->json, "Write the report as JSON; needs --output");
    app->add_option("-o,--output", options->output, "Write the report to FILE instead of standard error")
        ->type_name("FILE");
    app->add_option("--trace", options->trace,
                    "Write a timeline of all ranks, for Perfetto (ui.perfetto.dev) or Chrome")
        ->type_name("FILE");
    add_launch_options(*app, options->mpi, options->dry_run, mpis_of_programs);
    app->footer(
        "Examples:\n"
        "  lapwing run -- mpirun -n 2 ./program\n"
        "  lapwing run --report --algorithm ialltoall=pairwise:window=6 -- mpiexec -n 16 python3 "
        "program.py\n"
        "  lapwing run --trace timeline.json -- mpirun -n 2 ./program\n"
        "  lapwing run --mpi mpich -- srun -n 64 ./program\n"
        "  lapwing run --mpi abi -- mpiexec -n 2 python3 program.py\n\n"
        "lapwing identifies the MPI by the launcher's file or `LAUNCHER --version`, and the MPI standard "
        "ABI by the library\n"
        "of the program. A script has no library: add --mpi abi. For Intel MPI use mpich. Options override "
        "the LAPWING_* "
        "variables,\n"
        "which `lapwing info --variables` lists. The exit status is the launcher's; 125 if "
        "nothing was started, or if the launcher returned 0 but no rank wrote a report or a timeline. If the "
        "disk is full, lapwing "
        "prints a\n"
        "message and does not change the exit status.");
    app->prefix_command();  // everything after the first word that is no option belongs to the job
    return {app, [app, options, &words] { return run(*app, *options, words); }, false, true};
}

}  // namespace lapwing::tool
