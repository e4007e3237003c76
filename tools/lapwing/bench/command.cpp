// lapwing bench: measurements of Lapwing and the native MPI side by side.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdio>
#include <filesystem>
#include <memory>

#include "base/error.hpp"
#include "base/messages.hpp"
#include "command_line/command_line.hpp"
#include "lapwing/bench/run.hpp"
#include "lapwing/common/command.hpp"
#include "lapwing/common/values.hpp"
#include "lapwing/launch/program.hpp"

namespace lapwing::tool {
namespace {

constexpr const char* about_status =
    "\n"
    "lapwing appends its own program, built for the launcher's MPI, to the launcher command. The exit\n"
    "status is 0 if every requested engine ran all calls, 1 if one did not or gave a wrong result, 125 if\n"
    "nothing was started.";

// What one of all benchmarks, or all, are called with.
struct All {
    std::string directory;
    std::string only;
    std::string engines;
    bool quick = false;
    std::string mpi;
    bool table = false;  // print what is known of each benchmark
};

// One of the commands that `lapwing bench all` stands for.
struct Part {
    const Benchmark* benchmark;
    std::string file;
    const char* options;
    const char* in_full;
};

std::vector<Part> parts_of_all() {
    std::vector<Part> parts;
    for (const Benchmark& benchmark : benchmarks()) {
        for (const SuitePart& part : benchmark.suite) {
            parts.push_back(
                {&benchmark, *part.file == 0 ? benchmark.name : part.file, part.options, part.in_full});
        }
    }
    return parts;
}

// Runs a part as if the user had written its command.
int run_part(const Part& part, const All& all, const std::vector<std::string>& launcher) {
    std::vector<std::string> command = {"lapwing", "bench", part.benchmark->name};
    const auto add = [&](const std::vector<std::string>& words) {
        command.insert(command.end(), words.begin(), words.end());
    };
    add(words_of(part.options));
    add(all.quick ? std::vector<std::string>{"--quick"} : words_of(part.in_full));
    BenchOptions options;
    options.benchmark = part.benchmark;
    if (!all.engines.empty() && *part.benchmark->engines != 0) add({"--engine", all.engines});
    if (!all.mpi.empty()) add({"--mpi", all.mpi});
    add({"--json", "-o", (std::filesystem::path(all.directory) / (part.file + ".json")).string()});

    CommandLine app(part.benchmark->name, "");
    add_options(app, options);
    app.parse({command.begin() + 3, command.end()});
    command.emplace_back("--");
    add(launcher);
    return run_benchmark(options, launcher, command);
}

int run_suite(const CommandLine& app, const All& all, const Words& words) {
    require_words(app, words, "launcher", "lapwing bench all --output-directory DIRECTORY", "no launcher",
                  "mpirun -n 2");
    std::vector<std::string> names;
    const std::vector<Part> parts = parts_of_all();
    for (const Part& part : parts) names.push_back(part.file);
    std::vector<std::string> chosen = names;
    if (!all.only.empty()) {
        chosen = read_list("--only", all.only,
                           [&](const std::string& word) { return names[pick("benchmark", word, names)]; });
    }
    std::error_code error;
    std::filesystem::create_directories(all.directory, error);
    if (error) throw Error(ErrorCode::system, fmt::format("'{}': {}", all.directory, error.message()));
    int status = success;
    int number = 0;
    for (const Part& part : parts) {
        if (std::find(chosen.begin(), chosen.end(), part.file) == chosen.end()) continue;
        print_note("{}== {} ({} of {}) ==\n\n", number == 0 ? "" : "\n", part.file, number + 1,
                   chosen.size());
        ++number;
        if (run_part(part, all, words.words) != success) status = violations_found;
    }
    print_note("\nwritten to {}\n", all.directory);
    return status;
}

void add_all(CommandLine& bench, const std::shared_ptr<All>& all) {
    CommandLine* app = bench.add_subcommand("all", "Run every benchmark, into a directory of JSON files");
    app->allow_extras();
    app->usage("Usage: lapwing bench all --output-directory DIRECTORY [OPTIONS] -- LAUNCHER ARGUMENTS...");
    app->add_option("--output-directory", all->directory,
                    "Directory for the files; created if it does not exist")
        ->type_name("DIRECTORY")
        ->required();
    app->add_flag("--quick", all->quick, "Few sizes and rounds: three minutes instead of half an hour");
    std::string files;
    for (const Part& part : parts_of_all()) files += (files.empty() ? "" : ",") + part.file;
    app->add_option("--only", all->only, fmt::format("Run only these: {}", files))->type_name("B,...");
    app->add_option("--engine", all->engines,
                    "Engines, as for each benchmark; default native,mpi,host,kernel")
        ->type_name("E,...");
    app->add_option("--mpi", all->mpi, mpis_of_launchers)->type_name("M");
    app->footer(
        "Examples:\n"
        "  lapwing bench all --output-directory results -- mpirun -n 2\n"
        "  lapwing cluster --hosts 4 --rate 1gbit -- lapwing bench all --quick --output-directory results -- "
        "mpirun "
        "-n "
        "4\n");
}

void add_one(CommandLine& bench, const Benchmark& benchmark, BenchOptions& options) {
    options.benchmark = &benchmark;
    CommandLine* app = bench.add_subcommand(benchmark.name, benchmark.summary);
    app->allow_extras();
    const std::string source = *benchmark.source == 0 ? "" : fmt::format("\n{}.", benchmark.source);
    app->usage(fmt::format("{}{}\n\nUsage: lapwing bench {} [OPTIONS] -- LAUNCHER ARGUMENTS...",
                           benchmark.about, source, benchmark.name));
    add_options(*app, options);
    app->footer(about_status);
}

int run(const CommandLine& bench, const std::vector<std::unique_ptr<BenchOptions>>& each, const All& all,
        const Words& words) {
    const std::vector<const CommandLine*> chosen = bench.parsed_subcommands();
    if (all.table) {
        fmt::print("{}\n", benchmarks_as_json().dump(1));
        return success;
    }
    if (chosen.empty()) {
        const std::vector<std::string> rest = bench.remaining();
        std::vector<std::string> names = {"all"};
        for (const Benchmark& benchmark : benchmarks()) names.emplace_back(benchmark.name);
        if (!rest.empty()) pick("benchmark", rest.front(), names);
        throw_invalid(fmt::format("no benchmark given; valid: {}", fmt::join(names, ", ")));
    }
    const CommandLine& app = *chosen.front();
    if (app.name() == "all") return run_suite(app, all, words);
    const std::string begin = "lapwing bench " + app.name();
    require_words(app, words, "launcher", begin.c_str(), "no launcher", "mpirun -n 2");
    for (const auto& options : each) {
        if (options->benchmark->name != app.name()) continue;
        return run_benchmark(*options, words.words, own_command_line());
    }
    return not_started;
}

}  // namespace

Command add_bench(CommandLine& tool, const Words& words) {
    CommandLine* app = tool.add_subcommand("bench", "Measure collectives of Lapwing and of the native MPI");
    app->usage("Usage: lapwing bench BENCHMARK [OPTIONS] -- LAUNCHER ARGUMENTS...");
    app->footer(
        "Examples:\n"
        "  lapwing bench overlap -- mpirun -n 2\n"
        "  lapwing bench overlap --collective ialltoall --bytes 64Ki,256Ki --json -o overlap.json -- mpiexec "
        "-n 2\n"
        "  lapwing cluster --hosts 4 --rate 100mbit -- lapwing bench tests -- mpirun -n 4\n"
        "  lapwing bench all --quick --output-directory results -- mpirun -n 2\n\n"
        "`lapwing bench BENCHMARK --help` describes one, and names the figure of the paper that it "
        "reproduces.\n"
        "The exit status is 0 if every requested engine ran, 1 if an engine did not run or gave a wrong "
        "result, 125 if\n"
        "nothing was started.");
    auto all = std::make_shared<All>();
    // For the build: what `lapwing report` reads.
    app->add_flag("--table", all->table)->group("");
    add_all(*app, all);
    auto each = std::make_shared<std::vector<std::unique_ptr<BenchOptions>>>();
    for (const Benchmark& benchmark : benchmarks()) {
        each->push_back(std::make_unique<BenchOptions>());
        add_one(*app, benchmark, *each->back());
    }
    return {app, [app, each, all, &words] { return run(*app, *each, *all, words); }, false, true};
}

}  // namespace lapwing::tool
