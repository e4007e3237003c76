// lapwing verify: proves list files, or every algorithm for many problems.
#include <fmt/format.h>

#include <memory>

#include "base/error.hpp"
#include "base/values.hpp"
#include "collectives/catalogue.hpp"
#include "command_line/command_line.hpp"
#include "laboratory.hpp"
#include "lapwing/common/tables.hpp"
#include "lapwing/common/values.hpp"
#include "task/text.hpp"
#include "verify/verify.hpp"

namespace lapwing::tool {
namespace {

struct Options {
    std::vector<std::string> files;
    bool all = false;
    std::string ranks = "1:64";
    std::string collective;
    std::string algorithm;
    Work work;
    bool list = false;
};

constexpr std::size_t max_parts_to_read = 8;
constexpr const char* ranks_of_samples = "1:4096";

// In the order of the catalogue; then those of files.
std::vector<const Algorithm*> algorithms_of(const Outcome& outcome) {
    std::vector<const Algorithm*> algorithms;
    for (const Algorithm* algorithm : catalogue())
        if (outcome.tallies.contains(algorithm)) algorithms.push_back(algorithm);
    for (const auto& [algorithm, tally] : outcome.tallies)
        if (algorithm->lists != nullptr) algorithms.push_back(algorithm);
    return algorithms;
}

void print_outcome(const Outcome& outcome) {
    std::vector<std::vector<std::string>> rows = {{"collective", "algorithm", "lists proved", "chain forms",
                                                   "problems", "declined", "longest queue", "max ranks"}};
    for (const Algorithm* algorithm : algorithms_of(outcome)) {
        const Tally& tally = outcome.tallies.at(algorithm);
        rows.push_back({name(algorithm->collective), algorithm->name, std::to_string(tally.lists),
                        std::to_string(tally.chains), std::to_string(tally.problems),
                        std::to_string(tally.declined), std::to_string(tally.longest_queue),
                        std::to_string(tally.max_ranks)});
    }
    fmt::print("{}\n", align(rows));
    for (const CounterExample& example : outcome.examples) {
        fmt::print("{} by {}\n", print(example.problem), print(example.choice));
        // For larger groups there would be too much to read.
        const std::vector<Parts>& parts = example.problem.parts;
        for (std::size_t rank = 0; parts.size() <= max_parts_to_read && rank < parts.size(); ++rank)
            fmt::print("  parts {} {}\n", rank, print(parts[rank]));
        fmt::print("  {}\n", example.what);
    }
    if (outcome.nothing_applied()) {
        for (const auto& [algorithm, tally] : outcome.tallies) {
            fmt::print("{} of {} declined: {}\n", algorithm->name, name(algorithm->collective),
                       tally.why_declined);
        }
        fmt::print("nothing proved: no algorithm applies to any of the problems\n");
        return;
    }
    const Tally total = outcome.total();
    fmt::print("{}proved {} and {} of {}, {}\n", outcome.examples.empty() ? "" : "\n",
               counted(total.lists, "list"), counted(total.chains, "chain form"),
               counted(total.problems, "problem"), counted(total.violations, "violation"));
}

// "8" or "1:64". Throws Error (invalid_argument).
RankRange read_rank_range(std::string_view written) {
    const std::size_t colon = written.find(':');
    const auto first = parse_number(written.substr(0, colon));
    const auto last = colon == std::string_view::npos ? first : parse_number(written.substr(colon + 1));
    if (!first || !last || *first < 1 || *last < *first)
        throw_invalid(fmt::format("'{}' is not a range of ranks; write it like 8 or 1:64", written));
    if (*last > max_ranks)
        throw_invalid(fmt::format("{} ranks are too many: the maximum is {}", *last, max_ranks));
    return {static_cast<int>(*first), static_cast<int>(*last)};
}

std::vector<Choice> choices_of(const Options& options) {
    std::optional<Collective> collective;
    if (!options.collective.empty())
        collective = named("--collective", [&] { return read_collective(options.collective); });
    return named("--algorithm", [&] { return choices_to_verify(collective, options.algorithm); });
}

int verify(const CommandLine& app, const Options& options) {
    Work work = options.work;
    const bool ranks_given = app.count("--ranks") > 0;
    const bool samples = work.samples > 0;
    if (!samples) refuse_given(app, {"--seed"}, "needs --sample");
    const bool all =
        options.all || ranks_given || samples || !options.collective.empty() || !options.algorithm.empty();
    if (options.list) {
        if (options.all || ranks_given || samples || !options.files.empty())
            throw Error(ErrorCode::invalid_argument,
                        "use --list alone, or with --collective and --algorithm");
        print_proven(choices_of(options));
        return success;
    }
    if (all == !options.files.empty()) {
        throw Error(
            ErrorCode::invalid_argument,
            all ? "name list files, or use --all with --ranks, --collective and --algorithm, but not both"
                : "name the list files to verify, or use --all");
    }
    if (!all) return verify_files(options.files, work.limits, work.chains);

    work.choices = choices_of(options);
    work.ranks = named("--ranks", [&] {
        return read_rank_range(samples && !ranks_given ? ranks_of_samples : options.ranks);
    });
    work.chains = work.chains && !samples;
    const Outcome outcome = verify_all(work);
    print_outcome(outcome);
    return outcome.total().violations == 0 && !outcome.nothing_applied() ? success : violations_found;
}

}  // namespace

Command add_verify(CommandLine& tool) {
    auto options = std::make_shared<Options>();
    CommandLine* app =
        tool.add_subcommand("verify", "Prove task lists: those of files, or those of every algorithm");
    app->add_option("FILE", options->files, "List files, as `lapwing explain --format text` prints them");
    app->add_flag("--all", options->all,
                  "Prove every algorithm, with several parameters and for problems of every form");
    app->add_option("--ranks", options->ranks, "Numbers of ranks, such as 8 or 1:64 (1:64)")
        ->type_name("FIRST:LAST");
    app->add_option("--collective", options->collective, "Only algorithms of this collective")
        ->type_name("C");
    app->add_option("--algorithm", options->algorithm,
                    "Only this algorithm, such as bruck; pairwise:window=6: only with these parameters; "
                    "file:my.lists: lists of a file")
        ->type_name("A");
    app->add_option("--queue-depth", options->work.limits.queue_depth, "Longest allowed queue (16384)")
        ->type_name("N");
    app->add_flag(
        "--no-chains", [options] { options->work.chains = false; },
        "Do not prove the chain forms of the lists (for ranks on several hosts and on shared hosts)");
    app->add_option(
           "--sample", options->work.samples,
           "Prove N random problems of each algorithm, of up to 4096 ranks as far as memory permits, "
           "without chain forms")
        ->type_name("N")
        ->range(1, 1000000);
    app->add_option("--seed", options->work.seed, "Random seed of --sample (1)")->type_name("N");
    app->add_flag("--list", options->list,
                  "Prove nothing; list for which numbers of ranks each algorithm is already proven");
    app->footer(
        "Examples:\n"
        "  lapwing verify --all --ranks 1:64\n"
        "  lapwing verify --all --sample 8\n"
        "  lapwing verify --list\n"
        "  lapwing verify --collective alltoall --algorithm bruck --ranks 100\n"
        "  lapwing explain gather --ranks 6 --format text -o gather.list && lapwing verify gather.list\n"
        "\nThe exit status is 0 when all is proven; 1 with a counter-example, which is printed, or when no "
        "algorithm\napplies to any of the problems; 125 when a file or an option is wrong.");
    return {app, [app, options] { return verify(*app, *options); }};
}

}  // namespace lapwing::tool
