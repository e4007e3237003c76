// lapwing compare: does Lapwing help a program, and by how much?
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/error.hpp"
#include "base/json_schema.hpp"
#include "base/messages.hpp"
#include "base/output_file.hpp"
#include "command_line/command_line.hpp"
#include "lapwing/common/command.hpp"
#include "lapwing/common/setting_options.hpp"
#include "lapwing/common/values.hpp"
#include "lapwing/compare/answer.hpp"
#include "lapwing/compare/results.hpp"
#include "lapwing/compare/runs.hpp"
#include "lapwing/launch/job.hpp"
#include "lapwing/launch/launch.hpp"
#include "lapwing/launch/program.hpp"

namespace lapwing::tool {
namespace {

struct Options {
    int rounds = 10;
    double seconds = 0;
    double within = 1;
    std::vector<std::string> with;
    bool all = false;
    bool no_warm_up = false;
    std::vector<std::string> same;
    std::string same_output;
    double tolerance = 0;
    std::string time;
    bool json = false;
    std::string output;
    std::string mpi;
    bool dry_run = false;
};

const std::vector<std::string> variants_of_all = {"host: --engine host", "kernel: --engine kernel",
                                                  "messages off: --messages off", "blocking: --blocking"};

Settings read_settings_of(const std::string& options) {
    SettingOptions given;
    CommandLine line("", "");
    add_setting_options(line, given);
    line.allow_extras();
    if (line.parse(words_of(options))) throw_invalid("--help is no setting");
    refuse_unknown_options(line, false);
    Settings settings = settings_of(given);
    settings.report = "none";
    settings.trace.clear();
    return settings;
}

struct Settled {
    std::string name;
    std::optional<Settings> settings;  // nothing: without Lapwing
    std::vector<std::string> words;    // of the command
    Starter starter = {};              // of the command
};

// "NAME: OPTIONS" or "NAME: OPTIONS -- COMMAND".
Settled read_variant(const std::string& written, const std::vector<std::string>& words) {
    const std::size_t colon = written.find(':');
    if (colon == std::string::npos || colon == 0)
        throw_invalid(fmt::format(
            "--with: '{}' must have the form NAME: OPTIONS, such as \"blocking: --blocking\"", written));
    const std::string rest = written.substr(colon + 1);
    const std::size_t dashes = (rest + " ").find(" -- ");
    Settled variant = {written.substr(0, colon), {}, words};
    if (dashes != std::string::npos) {
        variant.words = words_of(rest.substr(std::min(dashes + 4, rest.size())));
        if (variant.words.empty())
            throw_invalid(fmt::format("--with: '{}' has no command after --", written));
    }
    const std::string given = rest.substr(0, dashes);
    if (words_of(given) != std::vector<std::string>{"native"})
        variant.settings = named("--with", [&] { return read_settings_of(given); });
    return variant;
}

// Native first.
std::vector<Settled> read_variants(const Options& options, const std::vector<std::string>& words) {
    std::vector<Settled> known = {{"native", {}, words}, {"lapwing", read_settings_of(""), words}};
    std::vector<std::string> all = options.with;
    if (options.all) all.insert(all.end(), variants_of_all.begin(), variants_of_all.end());
    for (const std::string& written : all) {
        Settled variant = read_variant(written, words);
        if (std::any_of(known.begin(), known.end(),
                        [&](const auto& other) { return other.name == variant.name; }))
            throw_invalid(fmt::format("--with: two variants have the name '{}'", variant.name));
        known.push_back(std::move(variant));
    }
    const char* const inherited = std::getenv("LD_PRELOAD");
    std::string preloads = inherited != nullptr ? inherited : "";
    for (const Settled& variant : known) preloads += fmt::format(" {}", fmt::join(variant.words, " "));
    if (preloads.find("liblapwing-") != std::string::npos)
        throw_invalid("LD_PRELOAD has a library of Lapwing, but native runs must have none: remove it");
    return known;
}

// `timed`: the directory for the files of the timer.
std::vector<Variant> arrange_variants(const std::vector<Settled>& known, const std::string& timed) {
    std::vector<Variant> variants;
    for (const auto& [name, settings, words, starter] : known) {
        const Preload preload = settings ? Preload::lists : Preload::none;
        variants.push_back({name,
                            settings ? arrange(starter, words, *settings) : Launch{words, {}},
                            arrange(starter, words, settings.value_or(Settings{}), preload, timed),
                            {},
                            {}});
    }
    return variants;
}

void say(const std::string& text, const std::string& file) {
    if (file.empty()) return fmt::print("{}", text);
    write_measured(file, text, "the comparison");
}

// Returns the status with which the tool must end, as waitpid() gives it.
int compare(const Options& options, std::vector<Variant> variants, const std::string& times,
            Measured measured) {
    constexpr std::size_t timed_rounds = 2;
    const double within = options.within / 100;
    const HeldSignals held;
    int status = 0;
    try {
        status = run_rounds(held, variants,
                            {.rounds = static_cast<std::size_t>(options.rounds),
                             .warm_up = !options.no_warm_up,
                             .seconds = options.seconds,
                             .within = within},
                            measured);
        if (status == 0) status = run_timed(held, variants, timed_rounds, times, measured);
    } catch (const std::exception& error) {
        if (variants.front().seconds.empty()) throw;
        print_message("lapwing compare: {}\n", error.what());
        status = violations_found << 8;
    }
    const bool empty = variants.front().seconds.empty();
    if (empty && status == violations_found << 8) return status;
    std::string found = answer(variants, within);
    const bool has_mpi = std::any_of(variants.begin(), variants.end(),
                                     [](const Variant& variant) { return !variant.timed.seconds.empty(); });
    if (status == 0 && !has_mpi) found += "No MPI was seen: no process called MPI_Init and MPI_Finalize.\n";
    if (options.json && !empty) {
        const nlohmann::json result = {{"schema", json_schema},
                                       {"benchmark", "compare"},
                                       {"lapwing", LAPWING_VERSION},
                                       {"time", time_of_day()},
                                       {"command", own_command_line()},
                                       {"conclusion", found.substr(0, found.size() - 1)},
                                       {"rows", {comparison_row(variants)}}};
        say(result.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n", options.output);
    } else if (!options.json) {
        say(found + (empty ? "" : "\n") + comparison_table(variants, measured.time.is_printed()),
            options.output);
    }
    if (!options.output.empty() || (options.json && empty)) print_message("{}", found);
    return status;
}

int run(const CommandLine& app, const Options& options, const Words& words) {
    require_words(app, words, "command", "lapwing compare", "no command to run", "mpirun -n 2 ./program");
    if (options.tolerance > 0 && options.same.empty() && options.same_output.empty())
        throw_invalid("--tolerance needs --same or --same-output");
    Results results(options.same, options.same_output, options.tolerance);
    const PrintedTime time(options.time);
    const std::filesystem::path place =
        std::filesystem::absolute(options.output.empty() ? "lapwing-compare" : options.output);
    std::vector<Settled> known = read_variants(options, words.words);
    for (Settled& variant : known) {
        const bool same = &variant != &known.front() && variant.words == words.words;
        variant.starter = same ? known.front().starter : find_starter(variant.words, options.mpi);
    }
    // Whatever cannot be launched is refused before anything is written.
    const std::vector<Variant> checked = arrange_variants(known, place);
    if (options.dry_run) {
        for (const Variant& variant : checked) fmt::print("{}", print(variant.launch));
        return success;
    }
    if (!options.output.empty()) const OutputFile file(options.output, "the comparison");
    int status = 0;
    {
        const JobDirectory times(place.string() + ".parts");
        leave_guard({&times});
        status = compare(options, arrange_variants(known, times.path()), times.path(), {time, results});
    }
    return end_as(status);
}

}  // namespace

Command add_compare(CommandLine& tool, const Words& words) {
    auto options = std::make_shared<Options>();
    CommandLine* app = tool.add_subcommand(
        "compare", "Measure how much time Lapwing saves a program, by running it with and without Lapwing");
    app->usage("Usage: lapwing compare [OPTIONS] -- LAUNCHER ARGUMENTS...");
    app->add_option("--rounds", options->rounds,
                    "Maximum number of rounds; each round runs every variant once")
        ->type_name("N")
        ->range(1, 100000)
        ->show_default();
    app->add_option("--seconds", options->seconds,
                    "Time limit for all rounds; one round is always run; 0: no limit")
        ->type_name("S")
        ->range(0.0, 1e9);
    app->add_option("--within", options->within,
                    "Stop when the 95 % interval of each variant is narrower than +- P percent")
        ->type_name("P")
        ->range(0.001, 100.0)
        ->show_default();
    app->add_option("--with", options->with,
                    "Also run this variant, such as \"blocking: --blocking\"; OPTIONS are those of "
                    "`lapwing run` that change settings, or `native`; another command may follow: "
                    "\"NAME: OPTIONS -- COMMAND\"; repeatable")
        ->type_name("\"NAME: OPTIONS\"")
        ->take_all();
    app->add_flag("--all", options->all,
                  "Also run the variants host, kernel (engines), messages off, and blocking");
    app->add_flag("--no-warm-up", options->no_warm_up, "Count the first round");
    app->add_option("--same", options->same,
                    "A file that each run must write with the same contents; repeatable")
        ->type_name("FILE")
        ->take_all();
    app->add_option("--same-output", options->same_output,
                    "The lines of the output that match REGEX must be the same in each run; without REGEX: "
                    "all lines")
        ->type_name("REGEX")
        ->optional_value("^");
    app->add_option("--tolerance", options->tolerance,
                    "Numbers in files and lines may differ by this share, such as 1e-9; reductions may add "
                    "in another order")
        ->type_name("T")
        ->range(0.0, 1.0);
    app->add_option(
           "--time", options->time,
           "Compare the seconds that the program prints: the first group of REGEX in the last line that "
           "matches, such as \"Loop time of (\\S+)\"")
        ->type_name("REGEX");
    app->add_flag("--json", options->json, "Print JSON, which `lapwing report` draws");
    app->add_option("-o,--output", options->output,
                    "Write the comparison to FILE, and only the answer to standard error")
        ->type_name("FILE");
    add_launch_options(*app, options->mpi, options->dry_run, mpis_of_programs);
    app->footer(
        "Examples:\n"
        "  lapwing compare -- mpirun -n 4 ./program\n"
        "  lapwing compare --rounds 30 --with \"blocking: --blocking\" --with \"host: --engine host\" -- "
        "srun -n 64 ./program\n"
        "  lapwing compare --with \"tests: native -- mpirun -n 4 ./program --tests\" -- mpirun -n 4 "
        "./program\n"
        "  lapwing compare --same-output 'energy' --tolerance 1e-9 -- mpirun -n 4 ./program\n"
        "  lapwing cluster --hosts 2 --rate 1gbit -- lapwing compare --json -o c.json -- mpirun -n 2 "
        "./program\n"
        "\n"
        "The variants native, lapwing (as `lapwing run` without options) and those of --with run in turns; "
        "the order\n"
        "changes from round to round. Native runs are the command as it is, with no library of Lapwing. "
        "The time of a\n"
        "run is that from the start of the launcher to its end, or with --time that which it prints. Two "
        "further rounds, with the same timer in "
        "all variants,\n"
        "time the ranks from MPI_Init to MPI_Finalize, and their processors; the ranks write beside FILE, or "
        "in the\n"
        "working directory, on a file system that all hosts share. Each round gives a ratio of variant and "
        "native; the\n"
        "table has the Hodges-Lehmann estimate of these ratios and its exact 95 % confidence interval "
        "(Wilcoxon's\n"
        "signed-rank test), which needs 6 rounds. A comparison does not stop before --rounds with fewer "
        "than 7.\n"
        "\n"
        "The output of the runs is kept in memory; lapwing prints the end of the output of a run that "
        "fails. If standard\n"
        "input is a file, each run reads it from the beginning. The exit status is 0 if all runs ended "
        "with 0, whatever\n"
        "the answer; 1 if a run failed, or has other results than the first one; 125 if nothing was "
        "started. Such a run,\n"
        "and Ctrl-C, end the comparison, and lapwing prints the answer of the complete rounds.");
    app->prefix_command();  // everything after the first word that is no option belongs to the job
    return {app, [app, options, &words] { return run(*app, *options, words); }, false, true};
}

}  // namespace lapwing::tool
