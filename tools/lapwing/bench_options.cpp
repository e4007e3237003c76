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

// The MPI underneath, and the engines from the last choice to the first. "auto" is none: what it would choose
// is not known before.
std::vector<std::string> measurable_engines() {
    std::vector<std::string> names;
    for (const std::string& name : engine_names()) {
        if (name != "auto" && name != "mpi") names.push_back(name);
    }
    names.emplace_back("mpi");
    std::reverse(names.begin(), names.end());
    return names;
}

// Beside the usual ones, which BenchOptions has.
const std::vector<std::string>& further_collectives() {
    static const std::vector<std::string> words = {"iscatter", "iallgather", "igatherv", "ialltoallv",
                                                   "iallreduce"};
    return words;
}

std::string measurable_collective(const std::string& written) {
    std::vector<std::string> words =
        read_list("--collective", BenchOptions().collectives, [](const std::string& word) { return word; });
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
    app.add_option("WHAT", options.what, "overlap: how much of a collective hides behind computation")
        ->type_name("");
    app.add_option("--engine", options.engines,
                   "Engines, measured in turn: mpi (the MPI underneath, untouched), host, ...; usually all")
        ->type_name("E,...");
    app.add_option(
           "--collective", options.collectives,
           fmt::format("Usually {}; also {}", options.collectives, fmt::join(further_collectives(), ",")))
        ->type_name("C,...");
    app.add_option("--bytes", options.bytes, "Blocks: 64Ki,256Ki; or 4Ki:1Mi, each 4 times the last (usual)")
        ->type_name("N,...");
    app.add_option("--method", options.methods,
                   "wait: start, one block of work, wait (usual); poll: quanta of work with tests between")
        ->type_name("M,...");
    app.add_option("--compute", options.compute,
                   "work: a fixed amount (usual); sleep: for more ranks than processors")
        ->type_name("work|sleep");
    app.add_option("--rounds", options.rounds, "Rounds through all engines; usually 9")
        ->type_name("N")
        ->check(CLI::Range(1, 100000).description(""));
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

nlohmann::json program_settings(const BenchOptions& options) {
    const std::vector<std::string> engines = measurable_engines();
    const auto engine = [&](const std::string& word) { return read_word("engine", word, engines); };
    const auto method = [](const std::string& word) { return read_word("method", word, {"wait", "poll"}); };
    return {
        {"engines", options.engines.empty() ? engines : read_list("--engine", options.engines, engine)},
        {"collectives", read_list("--collective", options.collectives, measurable_collective)},
        {"bytes", read_blocks(options.bytes)},
        {"methods", read_list("--method", options.methods, method)},
        {"compute", read_word("compute", options.compute, {"work", "sleep"})},
        {"rounds", options.rounds},
        {"iterations", options.iterations},
        {"work_factor", options.work_factor},
        {"quantum_seconds", options.quantum_microseconds / 1e6},
        // A sleeping program has no processor time that could be stolen.
        {"limit", !options.no_limit && options.compute == "work"},
        {"idle", options.idle},
        {"interface", options.interface},
        {"corrupt", options.corrupt.empty() ? "" : engine(options.corrupt)},
    };
}

}  // namespace lapwing::tool
