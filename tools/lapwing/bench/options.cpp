#include "lapwing/bench/options.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "base/error.hpp"
#include "base/values.hpp"
#include "command_line/command_line.hpp"
#include "lapwing/common/command.hpp"
#include "lapwing/common/values.hpp"

namespace lapwing::tool {
namespace {

using Json = nlohmann::json;

// What an option means; its default is added.
struct Text {
    const char* option;
    const char* type;
    const char* text;
};
constexpr Text texts[] = {
    {"--collective", "C,...", "Collectives"},
    {"--bytes", "N,...", "Block sizes: 64Ki,256Ki; or 4Ki:1Mi, in steps of factor 4"},
    {"--rounds", "N", "Number of rounds; each round measures every engine"},
    {"--seconds", "S",
     "Time limit for rows that are measured together; at least three rounds are run; 0: "
     "no limit"},
    {"--method", "M,...",
     "wait: start, one block of work, wait; poll: quanta of work with a test after each; fixed: work for "
     "a fixed time instead of a fixed amount"},
    {"--compute", "KIND",
     "work: a fixed amount of work; sleep: sleep instead; auto: sleep if there are more ranks than cores"},
    {"--work-factor", "X", "Duration of the work as a multiple of the base time"},
    {"--quantum", "US", "Microseconds of work between the tests of poll; 0: a hundredth of the base time"},
    {"--steps", "", "Work of 10 %, 20 %, ... 100 % of the base time instead of --work-factor"},
    {"--processes", "N,...", "Measure the first N ranks of the job, for each N in turn"},
    {"--tests", "N,...", "Calls of MPI_Test while computing"},
    {"--form", "F,...", "Forms of the collectives"},
    {"--window", "N,...", "Exchanges in flight"},
    {"--collectives", "N,...", "Collectives in flight"},
    {"--bytes-per-test", "N", "One call of MPI_Test for every N bytes of a block; 0: no calls"},
    {"--frequency", "HZ,...", "Wake-ups of each noise process per second"},
    {"--burst", "US,...", "Microseconds that a noise process computes after each wake-up"},
};

// All that can be measured.
constexpr const char* all_collectives =
    "ialltoall,ibcast,igather,ibarrier,iscatter,iallgather,igatherv,ialltoallv,iallreduce";

std::string valid_collectives(const Benchmark& benchmark) {
    return benchmark.only_these_collectives ? benchmark.find("--collective")->by_default : all_collectives;
}

std::string measurable_collective(const Benchmark& benchmark, const std::string& written) {
    const std::vector<Collective> valid =
        read_list("--collective", valid_collectives(benchmark), read_collective);
    const Collective collective = read_collective(written);
    if (std::find(valid.begin(), valid.end(), collective) == valid.end()) {
        throw_invalid(fmt::format("{} is not measured; valid: {}", mpi_name(collective),
                                  fmt::join(split(valid_collectives(benchmark), ','), ", ")));
    }
    return mpi_name(collective);
}

std::vector<double> read_numbers(const BenchOptions& options, const char* option, double least, double most) {
    return read_list(option, options.value(option),
                     [&](const std::string& word) { return real_in(option, word, least, most); });
}

std::vector<std::uint64_t> read_counts(const BenchOptions& options, const char* option, std::uint64_t least,
                                       std::uint64_t most) {
    return read_list(option, options.value(option),
                     [&](const std::string& word) { return number_in(option, word, least, most); });
}

std::string read_word(const char* what, const std::string& written, const std::vector<std::string>& valid) {
    return valid[pick(what, written, valid)];
}

std::vector<std::string> read_words(const BenchOptions& options, const char* option, const char* what,
                                    const std::vector<std::string>& valid) {
    return read_list(option, options.value(option),
                     [&](const std::string& word) { return read_word(what, word, valid); });
}

// The options of one benchmark that others do not have.
void add_own_settings(const BenchOptions& options, Json& settings) {
    if (options.has("--method")) {
        settings["methods"] = read_words(options, "--method", "method", {"wait", "poll", "fixed"});
        settings["quantum_seconds"] = options.number("--quantum", 0, 1e9) / 1e6;
        if (options.flag("--steps")) {
            settings["work_shares"] = {0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0};
        }
    }
    if (options.has("--processes") && options.value("--processes") != "all") {
        if (settings.contains("work_shares")) throw_invalid("--processes cannot be used with --steps");
        settings["processes"] = read_counts(options, "--processes", 2, 1000000);
    }
    if (options.has("--work-factor")) settings["work_factor"] = options.number("--work-factor", 0.001, 1000);
    if (options.has("--tests")) settings["tests"] = read_counts(options, "--tests", 0, 10000000);
    if (options.has("--form")) {
        settings["forms"] = read_words(options, "--form", "form", {"blocking", "nonblocking"});
    }
    if (options.has("--window")) settings["windows"] = read_counts(options, "--window", 1, 1000000);
    if (options.has("--collectives")) {
        settings["collectives_at_once"] = read_counts(options, "--collectives", 1, 1000);
    }
    if (options.has("--bytes-per-test")) {
        settings["bytes_per_test"] = read_bytes("--bytes-per-test", options.value("--bytes-per-test"));
    }
    if (options.has("--frequency")) {
        settings["frequencies_hz"] = read_numbers(options, "--frequency", 0.1, 1e5);
        std::vector<double> bursts = read_numbers(options, "--burst", 1, 1e6);
        for (double& burst : bursts) burst /= 1e6;
        settings["burst_seconds"] = bursts;
    }
}

}  // namespace

std::vector<std::string> measurable_engines() {
    std::vector<std::string> names = engine_names();
    names.emplace_back("native");
    std::stable_partition(names.begin(), names.end(), [](const std::string& name) { return name != "auto"; });
    std::reverse(names.begin(), names.end() - 1);
    return names;
}

bool BenchOptions::has(const std::string& option) const {
    return benchmark->find(option) != nullptr;
}

std::string BenchOptions::value(const std::string& option) const {
    if (const auto written = given.find(option); written != given.end() && !written->second.empty()) {
        return written->second;
    }
    const BenchmarkOption* found = benchmark->find(option);
    if (found == nullptr) return "";
    return quick && *found->quick != 0 ? found->quick : found->by_default;
}

bool BenchOptions::flag(const std::string& option) const {
    const auto written = given.find(option);
    return written != given.end() && written->second == "1";
}

int BenchOptions::count(const std::string& option, int least, int most) const {
    return static_cast<int>(number_in(option, value(option), static_cast<std::uint64_t>(least),
                                      static_cast<std::uint64_t>(most)));
}

int BenchOptions::number_of_passes() const {
    const int wanted = passes > 0 ? passes : quick ? 1 : 3;
    return std::min(wanted, count("--rounds", 1, 100000));
}

double BenchOptions::number(const std::string& option, double least, double most) const {
    return real_in(option, value(option), least, most);
}

void add_options(CommandLine& app, BenchOptions& options) {
    const Benchmark& benchmark = *options.benchmark;
    if (*benchmark.engines != 0) {
        app.add_option(
               "--engine", options.engines,
               fmt::format("Measured in turns, each in jobs of its own: native (the MPI alone, without "
                           "Lapwing's library), mpi (the MPI's own functions under `lapwing run "
                           "--engine mpi`), host, kernel, auto (Lapwing's choice); default {}",
                           benchmark.engines))
            ->type_name("E,...");
    }
    for (const Text& text : texts) {
        const BenchmarkOption* option = benchmark.find(text.option);
        if (option == nullptr) continue;
        if (*text.type == 0) {
            app.add_flag(
                text.option, [&options, name = std::string(text.option)] { options.given[name] = "1"; },
                text.text);
            continue;
        }
        std::string about = fmt::format("{}; default {}", text.text, option->by_default);
        if (*option->quick != 0) about += fmt::format(", with --quick {}", option->quick);
        if (std::string(text.option) == "--collective" &&
            valid_collectives(benchmark) != option->by_default) {
            about += fmt::format("; valid: {}", valid_collectives(benchmark));
        }
        app.add_option(text.option, options.given[text.option], about)->type_name(text.type);
    }
    if (options.has("--variant")) {
        app.add_option("--variant", options.variants,
                       "NAME:ENGINE:VARIABLES, measured instead of the default variants; may be repeated")
            ->type_name("SPEC")
            ->take_all();
    }
    app.add_option("--iterations", options.iterations,
                   "Iterations of each phase in a round; 0: as many as fit into 10 ms")
        ->type_name("N")
        ->range(0, 1000000);
    app.add_option("--passes", options.passes,
                   "Jobs of each engine, in turns with those of the others; the rounds are divided among "
                   "them; default 3, with --quick 1")
        ->type_name("N")
        ->range(1, 1000);
    app.add_flag("--quick", options.quick, "Few sizes and rounds, for a first impression");
    app.add_option("--algorithm", options.algorithm,
                   "Algorithms, such as "
                   "ialltoall=pairwise:window=6,ibcast=binomial")
        ->type_name("SPEC");
    app.add_flag("--json", options.json, "Print JSON, with every sample, in place of the tables");
    app.add_option("-o,--output", options.output,
                   "Write the result to FILE; with --json, the tables are still printed")
        ->type_name("FILE");
    add_launch_options(app, options.mpi, options.dry_run, mpis_of_launchers);
    // For tests: makes a byte of this engine's results wrong, which must be found.
    app.add_option("--corrupt", options.corrupt)->group("");
}

Json program_settings(const BenchOptions& options) {
    const Benchmark& benchmark = *options.benchmark;
    const std::vector<std::string> engines = measurable_engines();
    const auto engine = [&](const std::string& word) { return read_word("engine", word, engines); };
    const std::string asked = options.engines.empty() ? benchmark.engines : options.engines;
    const std::string bytes = options.value("--bytes");
    Json settings = {
        {"benchmark", benchmark.program},
        {"engines", asked.empty() ? std::vector<std::string>{} : read_list("--engine", asked, engine)},
        {"collectives",
         read_list("--collective", options.value("--collective"),
                   [&](const std::string& word) { return measurable_collective(benchmark, word); })},
        {"bytes", bytes.empty() ? std::vector<std::uint64_t>{} : read_blocks(bytes)},
        {"compute", "work"},
        {"rounds", options.count("--rounds", 1, 100000)},
        {"seconds", options.number("--seconds", 0, 1e6)},
        {"iterations", options.iterations},
        {"corrupt", options.corrupt.empty() ? "" : engine(options.corrupt)},
    };
    if (options.has("--compute")) {
        settings["compute"] = read_word("--compute", options.value("--compute"), {"work", "sleep", "auto"});
    }
    add_own_settings(options, settings);
    return settings;
}

}  // namespace lapwing::tool
