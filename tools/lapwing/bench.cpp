// lapwing bench: measurements of Lapwing and the MPI underneath side by side.
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <cstdio>
#include <fstream>
#include <memory>

#include "base/error.hpp"
#include "lapwing/arrange.hpp"
#include "lapwing/bench_job.hpp"
#include "lapwing/bench_options.hpp"
#include "lapwing/bench_statistics.hpp"
#include "lapwing/bench_table.hpp"
#include "lapwing/command.hpp"
#include "lapwing/process.hpp"
#include "lapwing/values.hpp"

namespace lapwing::tool {
namespace {

extern "C" char** environ;

void check_command(const CLI::App& app, const BenchOptions& options, const Words& words) {
    check_benchmark(app, options);
    const std::string begin = "lapwing bench " + options.what;
    require_words(app, words, "launcher", begin.c_str(), "no launcher", "mpirun -n 4");
}

// Each communicator says its engine; the variable must not say "mpi" for all.
Settings settings_of(const BenchOptions& options) {
    Settings settings = read_settings(environ);
    settings.engine = "auto";
    if (!options.algorithm.empty()) settings.algorithm = options.algorithm;
    check_values(settings);
    return settings;
}

// Standard output belongs to the JSON when it goes there.
class Output {
  public:
    explicit Output(const std::string& path) : path_(path) {
        if (path.empty() || path == "-") return;
        file_.open(path);
        if (!file_) throw Error(ErrorCode::system, fmt::format("'{}' cannot be written", path));
    }
    void write(const nlohmann::json& result) {
        if (path_ == "-") {
            fmt::print("{}\n", result.dump(1));
            return;
        }
        fmt::print("{}", result.at("benchmark") == "base" ? base_table(result) : overlap_tables(result));
        if (path_.empty()) return;
        file_ << result.dump(1) << "\n";
        file_.close();
        if (!file_) throw Error(ErrorCode::system, fmt::format("'{}' could not be written", path_));
    }

  private:
    std::string path_;
    std::ofstream file_;
};

int run(const CLI::App& app, const BenchOptions& options, const Words& words) {
    check_command(app, options, words);
    const nlohmann::json asked = program_settings(options);
    const Settings settings = settings_of(options);
    const Starter starter = find_launcher(words.words, options.mpi);
    std::vector<std::string> command = words.words;
    command.push_back(find_bench_program("lapwing-overlap", *starter.family));
    command.push_back(asked.dump());
    const Launch launch = arrange(starter, command, settings);
    if (options.dry_run) {
        fmt::print("{}", print(launch));
        return success;
    }
    Output output(options.json);
    BenchJob job = run_bench(launch, "lapwing-overlap");
    if (job.status != 0 || !job.result) {
        fmt::print(stderr, "lapwing bench: no result; the launcher ended with status {}\n", job.status);
        return violations_found;
    }
    nlohmann::json result = {{"benchmark", options.what}, {"lapwing", LAPWING_VERSION},
                             {"time", time_of_day()},     {"command", own_command_line()},
                             {"launched", launch.words},  {"algorithm", settings.algorithm},
                             {"settings", asked}};
    result.update(*job.result);
    summarize(result);
    output.write(result);
    if (all_confirmed(result)) return success;
    fmt::print(stderr, "lapwing bench: not every engine that was asked for did the work\n");
    return violations_found;
}

}  // namespace

Command add_bench(CLI::App& tool, const Words& words) {
    auto options = std::make_shared<BenchOptions>();
    CLI::App* app =
        tool.add_subcommand("bench", "Measure overlap or base time, Lapwing beside the MPI underneath");
    show_usage(*app, "Usage: lapwing bench overlap|base [OPTIONS] -- LAUNCHER ARGUMENTS...");
    add_options(*app, *options);
    app->footer(
        "Examples:\n"
        "  lapwing bench overlap -- mpirun -n 2\n"
        "  lapwing bench overlap --collective ialltoall --bytes 64Ki,256Ki --json overlap.json -- mpiexec -n "
        "2\n"
        "  lapwing cluster --hosts 4 --rate 100mbit -- lapwing bench overlap -- mpirun -n 4\n"
        "  lapwing bench base --collective ibarrier,ibcast --bytes 8,64Ki -- mpirun -n 2\n"
        "\nThe launcher's words are followed by the benchmark's own program, in the MPI that the launcher\n"
        "belongs to. The exit status is 0 when every engine did the work that it was asked for, 1 when one "
        "did\n"
        "not or gave a wrong result, 2 when nothing was started.");
    return {app, [app, options, &words] { return run(*app, *options, words); }, false, true};
}

}  // namespace lapwing::tool
