// lapwing explain: the lists, queues or chains of one collective, and why this algorithm was chosen.
#include <fmt/format.h>

#include <memory>
#include <optional>

#include "base/error.hpp"
#include "base/output_file.hpp"
#include "base/values.hpp"
#include "collectives/catalogue.hpp"
#include "command_line/command_line.hpp"
#include "lapwing/common/command.hpp"
#include "lapwing/common/tables.hpp"
#include "lapwing/common/values.hpp"
#include "lapwing/explain/choice.hpp"
#include "lapwing/explain/problem.hpp"
#include "lapwing/explain/totals.hpp"
#include "lapwing/mlx5/commands.hpp"
#include "task/chains.hpp"
#include "task/checker.hpp"
#include "task/lowering.hpp"
#include "task/text.hpp"

namespace lapwing::tool {
namespace {

// Totals need the lists of all ranks; with --rank they are built for groups up to this size only.
constexpr int max_ranks_for_totals = 64;
constexpr std::size_t max_tasks = std::size_t{1} << 22;

enum class Level { list, queues, chains, wqe };

struct Options {
    ProblemOptions problem;
    ChoiceOptions choice;
    std::optional<int> rank;
    std::string level = "list";
    std::string variant;
    std::string format = "table";
    std::string output;
};

struct Explained {
    AskedProblem asked;
    Chosen chosen;
    std::vector<List> all;  // of all ranks; empty when there are too many
    std::vector<List> shown;
    std::vector<Queues> queues;  // of those that are shown, at this level
    std::vector<Chains> chains;  // as above
    std::string entries;         // work-queue entries, as text

    const Problem& problem() const { return asked.problem; }
    const Choice& choice() const { return chosen.choice; }
};

AskedProblem read(const Options& options) {
    AskedProblem asked = read_problem(options.problem);
    const int ranks = asked.problem.ranks;
    if (options.rank && (*options.rank < 0 || *options.rank >= ranks)) {
        throw_invalid(
            fmt::format("rank {} is out of range: the group has ranks 0 to {}", *options.rank, ranks - 1));
    }
    return asked;
}

void build(const Options& options, Explained& explained) {
    const Problem& problem = explained.problem();
    const auto list_of = [&](int rank) { return lapwing::build(problem, rank, explained.choice()); };
    std::size_t tasks = 0;
    if (!options.rank || problem.ranks <= max_ranks_for_totals) {
        for (int rank = 0; rank < problem.ranks; ++rank) {
            explained.all.push_back(list_of(rank));
            tasks += explained.all.back().tasks.size();
            if (tasks > max_tasks) {
                throw Error(
                    ErrorCode::unsupported,
                    fmt::format("the lists of all ranks have more than {} tasks; choose one with --rank",
                                max_tasks));
            }
        }
    }
    if (!options.rank) {
        explained.shown = explained.all;
    } else {
        explained.shown.push_back(list_of(*options.rank));
    }
}

std::string describe(const Totals& of, bool with_steps) {
    std::string text = fmt::format("{}, {}", counted(of.sends, "send"), counted(of.bytes, "byte"));
    if (with_steps) text += fmt::format(", {} in the longest chain", counted(of.steps, "step"));
    return text;
}

std::string header(const Explained& explained) {
    const Algorithm& algorithm = *explained.choice().algorithm;
    std::string text = fmt::format("{}: {}\n", explained.asked.what(), print(explained.choice()));
    const auto line = [&](const char* key, const std::string& value) {
        text += fmt::format("  {:<11} {}\n", key, value);
    };
    const std::string lengths = explained.asked.lengths();
    const std::string hosts = explained.asked.hosts();
    if (!lengths.empty()) line("blocks", lengths);
    if (has_neighbors(explained.problem().collective))
        line("neighbours", "the ranks before and after each rank, in a ring");
    if (!hosts.empty()) line("hosts", hosts);
    line("algorithm", algorithm.summary);
    line("source", algorithm.source);
    for (std::size_t i = 0; i < algorithm.parameters.size(); ++i) {
        const Parameter& parameter = algorithm.parameters[i];
        line("parameter", fmt::format("{} = {}: {} ({} to {}, default {})", parameter.name,
                                      explained.choice().parameters[i], parameter.meaning, parameter.min,
                                      parameter.max, parameter.default_value));
    }
    if (!explained.all.empty()) line("all ranks", describe(totals(explained.all), true));
    if (explained.shown.size() != explained.all.size()) {
        line(fmt::format("rank {}", explained.shown.front().rank).c_str(),
             describe(totals(explained.shown), false));
    }
    if (!explained.chosen.by.empty()) {
        line("engine", explained.chosen.place());
        line("chosen", explained.chosen.sentence());
    }
    const char* key = "candidates";
    for (const Candidate& candidate : explained.chosen.candidates) {
        line(key, fmt::format("{:<30} {}", print(candidate.choice),
                              candidate.applies ? print_seconds(candidate.cost)
                                                : fmt::format("declines: {}", candidate.applies.reason())));
        key = "";
    }
    return text;
}

std::string as_text(const Explained& explained, Level level) {
    std::string text;
    if (level == Level::queues) {
        for (const Queues& of_rank : explained.queues) text += print(of_rank);
    } else if (level == Level::chains) {
        for (const Chains& of_rank : explained.chains) text += print(of_rank);
    } else if (level == Level::wqe) {
        text = explained.entries;
    } else if (explained.shown.size() != explained.all.size()) {
        for (const List& list : explained.shown) text += print(list);
    } else {
        text = print(ListSet{explained.problem(), print(explained.choice()), explained.shown});
    }
    return text;
}

std::string as_table(const Explained& explained, Level level) {
    const std::size_t width = output_width();
    const std::string body = level == Level::queues                          ? table(explained.queues, width)
                             : level == Level::chains || level == Level::wqe ? as_text(explained, level)
                                                                             : table(explained.shown, width);
    return header(explained) + "\n" + body;
}

// A chain has a step for each gibibyte of a message.
void refuse_long_chains(const List& list) {
    constexpr std::uint64_t max_bytes = std::uint64_t{1} << 40;
    std::uint64_t left = max_bytes;
    for (const Task& task : list.tasks) {
        for (const std::uint64_t bytes : {task.source.length, task.target.length}) {
            if (bytes > left) {
                throw Error(ErrorCode::unsupported,
                            fmt::format("the chains of a list that moves more than {} bytes are too long to "
                                        "show: choose a smaller block with --bytes",
                                        max_bytes));
            }
            left -= bytes;
        }
    }
}

void lower_to(Level level, const std::string& variant, Explained& explained) {
    if (level == Level::wqe)
        explained.entries =
            print_work_queues(explained.problem(), explained.choice(), explained.shown, variant);
    for (const List& list : explained.shown) {
        if (level == Level::queues) explained.queues.push_back(lower(list));
        if (level != Level::chains) continue;
        const Verdict verdict = has_chains(list);
        if (!verdict) {
            throw Error(ErrorCode::unsupported, fmt::format("the list of rank {} has no chain form: {}",
                                                            list.rank, verdict.reason()));
        }
        refuse_long_chains(list);
        explained.chains.push_back(lower_to_chains(list));
    }
}

int explain(const CommandLine& app, const Options& options) {
    static const std::string levels[] = {"list", "queues", "chains", "wqe"};
    const Level level = static_cast<Level>(pick("--level", options.level, levels));
    static const std::string formats[] = {"table", "text"};
    const std::string& format = formats[pick("--format", options.format, formats)];
    if (level != Level::wqe && app.count("--variant") > 0) throw_invalid("--variant needs --level wqe");
    Explained explained;
    explained.asked = read(options);
    explained.chosen = choose(options.choice, explained.problem(), explained.asked.several_hosts);
    build(options, explained);
    lower_to(level, options.variant, explained);

    const std::string text = format == "text" ? as_text(explained, level) : as_table(explained, level);
    if (options.output.empty()) {
        fmt::print("{}", text);
        return success;
    }
    write_file(options.output, text, fmt::format("the {}", format));
    return success;
}

}  // namespace

Command add_explain(CommandLine& tool) {
    auto options = std::make_shared<Options>();
    CommandLine* app = tool.add_subcommand(
        "explain", "Show the task lists of a collective, and why this algorithm was chosen");
    add_problem_options(*app, options->problem);
    add_choice_options(*app, options->choice);
    app->add_option("--rank", options->rank, "Show this rank only")->type_name("R");
    app->add_option("--level", options->level,
                    "list: the task list; queues: its queues on a network card; chains: its io_uring "
                    "chains in the kernel engine; wqe: the bytes of a ConnectX card's work-queue entries")
        ->type_name("L");
    app->add_option(
           "--variant", options->variant,
           "With --level wqe: mq-send (default), mq-rdma, peer-send or peer-rdma. mq: a management queue "
           "waits; peer: the peers' queues wait; send or rdma: messages are sends or RDMA writes")
        ->type_name("V");
    app->add_option("--format", options->format, "table, text (a list file)")->type_name("F");
    app->add_option("-o,--output", options->output, "Write to this file")->type_name("FILE");
    app->footer(
        "Examples:\n"
        "  lapwing explain barrier --algorithm recursive_doubling --ranks 4 --level queues\n"
        "  lapwing explain MPI_Ialltoall --ranks 16 --bytes 64Ki --rank 3\n"
        "  lapwing explain broadcast --ranks 8 --root 2 --format text -o broadcast.list\n"
        "  lapwing explain alltoallv --ranks 4 --bytes 1000 --sizes uneven\n"
        "  lapwing explain broadcast --hosts 2x4 --algorithm two_level --bytes 1Ki\n"
        "  lapwing explain scan --ranks 6 --op user --type opaque:24 --ordered\n"
        "\nWithout --algorithm the choice follows LAPWING_ALGORITHM, as in a run.\n"
        "`lapwing verify` reads the list files that --format text prints.");
    return {app, [app, options] { return explain(*app, *options); }};
}

}  // namespace lapwing::tool
