#include "lapwing/bench_options.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <vector>

#include "base/error.hpp"
#include "lapwing/values.hpp"

namespace lapwing::tool {
namespace {

[[noreturn]] void refuse(const std::string& why) {
    throw Error(ErrorCode::invalid_argument, why);
}

const std::vector<std::string> benchmarks = {"overlap", "base"};

// What is measured where the user does not say it.
struct Usual {
    const char* collectives;
    const char* bytes;
    int rounds;
    double seconds;
};
constexpr Usual usual_overlap{"ialltoall,ibcast,igather,ibarrier", "4Ki:1Mi", 9, 0};
constexpr Usual usual_base{"ibarrier,ibcast,igather,ialltoall,iallreduce", "8,4Ki,64Ki,1Mi", 21, 10};

bool measures_base(const BenchOptions& options) {
    return options.what == "base";
}

// The MPI underneath, and the engines from the last choice to the first; "auto" is what Lapwing would choose.
std::vector<std::string> all_engines() {
    std::vector<std::string> names;
    for (const std::string& name : engine_names()) {
        if (name != "auto" && name != "mpi") names.push_back(name);
    }
    names.emplace_back("mpi");
    std::reverse(names.begin(), names.end());
    return names;
}

std::vector<std::string> usual_engines(const BenchOptions& options) {
    return measures_base(options) ? std::vector<std::string>{"mpi", "auto"} : all_engines();
}

// Beside the usual ones of overlap.
const std::vector<std::string>& further_collectives() {
    static const std::vector<std::string> words = {"iscatter", "iallgather", "igatherv", "ialltoallv",
                                                   "iallreduce"};
    return words;
}

std::string measurable_collective(const std::string& written) {
    std::vector<std::string> words =
        read_list("--collective", usual_overlap.collectives, [](const std::string& word) { return word; });
    words.insert(words.end(), further_collectives().begin(), further_collectives().end());
    const Collective collective = read_collective(written);
    const bool measured = std::any_of(words.begin(), words.end(), [&](const std::string& word) {
        return read_collective(word) == collective;
    });
    if (!measured) {
        refuse(fmt::format("{} is not measured; valid: {}", mpi_name(collective), fmt::join(words, ", ")));
    }
    return mpi_name(collective);
}

std::string read_word(const char* what, const std::string& written, const std::vector<std::string>& valid) {
    return valid[pick(what, written, valid)];
}

}  // namespace

void add_options(CLI::App& app, BenchOptions& options) {
    app.add_option("WHAT", options.what,
                   "overlap: how much of a collective hides behind computation; base: its time alone")
        ->type_name("");
    app.add_option("--engine", options.engines,
                   "Engines, measured in turn: mpi (the MPI underneath, untouched), host, ..., auto (what "
                   "Lapwing chooses); usually all but auto; of base mpi,auto")
        ->type_name("E,...");
    app.add_option("--collective", options.collectives,
                   fmt::format("Usually {}; of base {}; also {}", usual_overlap.collectives,
                               usual_base.collectives, fmt::join(further_collectives(), ",")))
        ->type_name("C,...");
    app.add_option(
           "--bytes", options.bytes,
           fmt::format("Blocks: 64Ki,256Ki; or 4Ki:1Mi, each 4 times the last (usual); of base usually "
                       "{}",
                       usual_base.bytes))
        ->type_name("N,...");
    app.add_option("--method", options.methods,
                   "wait: start, one block of work, wait (usual); poll: quanta of work with tests between")
        ->type_name("M,...");
    app.add_option("--compute", options.compute,
                   "work: a fixed amount (usual); sleep: for more ranks than processors")
        ->type_name("work|sleep");
    app.add_option("--rounds", options.rounds,
                   fmt::format("Rounds through all engines; usually {}, of base {}", usual_overlap.rounds,
                               usual_base.rounds))
        ->type_name("N")
        ->check(CLI::Range(1, 100000).description(""));
    app.add_option("--seconds", options.seconds,
                   fmt::format("No further round of a row after so many, but three at least; 0: no limit "
                               "(usual); of base usually {}",
                               usual_base.seconds))
        ->type_name("S")
        ->check(CLI::Range(0.0, 1e6).description(""));
    app.add_option("--iterations", options.iterations, "Of each phase in a round; 0: what fits into 10 ms")
        ->type_name("N")
        ->check(CLI::Range(0, 1000000).description(""));
    app.add_option("--work-factor", options.work_factor, "Work is so many times the base time; usually 1.2")
        ->type_name("X")
        ->check(CLI::Range(0.001, 1000.0).description(""));
    app.add_option("--quantum", options.quantum_microseconds,
                   "Microseconds of work between tests; 0: a hundredth of the base time")
        ->type_name("US")
        ->check(CLI::Range(0.0, 1e9).description(""));
    app.add_flag("--no-limit", options.no_limit, "Do not measure what plain sockets need");
    app.add_flag("--idle", options.idle, "Also measure the loss by a collective that is pending and idle");
    app.add_option("--interface", options.interface, "Interface for the plain sockets")->type_name("NAME");
    app.add_option("--algorithm", options.algorithm, "As ialltoall=pairwise:window=6,ibcast=binomial")
        ->type_name("SPEC");
    app.add_option("--json", options.json, "Everything, with each sample, to FILE; - for standard output")
        ->type_name("FILE");
    app.add_option("--mpi", options.mpi, "openmpi or mpich, when the launcher does not tell")->type_name("M");
    app.add_flag("--dry-run", options.dry_run, "Print the command, do not run it");
    // For tests: a byte of this engine's results is made wrong, which must be found.
    app.add_option("--corrupt", options.corrupt)->group("");
}

void check_benchmark(const CLI::App& app, const BenchOptions& options) {
    if (options.what.empty()) {
        refuse(fmt::format("what is to be measured is missing; valid: {}", fmt::join(benchmarks, ", ")));
    }
    pick("benchmark", options.what, benchmarks);
    if (!measures_base(options)) return;
    for (const char* name : {"--method", "--compute", "--work-factor", "--quantum", "--no-limit", "--idle"}) {
        if (app.count(name) > 0) {
            refuse(fmt::format("{} is for overlap: while base times are measured nothing is computed", name));
        }
    }
}

nlohmann::json program_settings(const BenchOptions& options) {
    const bool base = measures_base(options);
    const Usual& usual = base ? usual_base : usual_overlap;
    const auto given = [](const std::string& value, const char* otherwise) {
        return value.empty() ? otherwise : value;
    };
    std::vector<std::string> engines = all_engines();
    engines.emplace_back("auto");
    const auto engine = [&](const std::string& word) { return read_word("engine", word, engines); };
    const auto method = [](const std::string& word) { return read_word("method", word, {"wait", "poll"}); };
    return {
        {"engines",
         options.engines.empty() ? usual_engines(options) : read_list("--engine", options.engines, engine)},
        {"collectives",
         read_list("--collective", given(options.collectives, usual.collectives), measurable_collective)},
        {"bytes", read_blocks(given(options.bytes, usual.bytes))},
        {"methods", base ? std::vector<std::string>{"base"} : read_list("--method", options.methods, method)},
        {"compute", read_word("compute", options.compute, {"work", "sleep"})},
        {"rounds", options.rounds > 0 ? options.rounds : usual.rounds},
        {"seconds", options.seconds >= 0 ? options.seconds : usual.seconds},
        {"iterations", options.iterations},
        {"work_factor", options.work_factor},
        {"quantum_seconds", options.quantum_microseconds / 1e6},
        // A sleeping program has no processor time that could be stolen.
        {"limit", !base && !options.no_limit && options.compute == "work"},
        {"idle", options.idle},
        {"interface", options.interface},
        {"corrupt", options.corrupt.empty() ? "" : engine(options.corrupt)},
    };
}

}  // namespace lapwing::tool
