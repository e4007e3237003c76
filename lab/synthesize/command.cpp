// lapwing synthesize: finds lists for links of unequal rates.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <chrono>
#include <cmath>
#include <filesystem>
#include <memory>

#include "base/error.hpp"
#include "base/output_file.hpp"
#include "base/values.hpp"
#include "command_line/command_line.hpp"
#include "laboratory.hpp"
#include "lapwing/common/list_json.hpp"
#include "lapwing/common/tables.hpp"
#include "lapwing/common/values.hpp"
#include "synthesize/study.hpp"
#include "task/text.hpp"

namespace lapwing::tool {
namespace {

struct Options {
    std::string collectives;
    std::string topology;
    int root = 0;
    std::string bytes = "64Ki";
    std::string chunks;
    synthesis::Search search{.steps = 10000};
    double seconds = 0;
    std::string engine = "kernel";
    std::string tuning;
    std::string output;
    bool always = false;
    bool json = false;
};

struct Row {
    Problem problem;
    Synthesized found;
    std::vector<Rival> rivals;
    std::optional<Rival> any_order;  // the best algorithm of the catalogue, ranks in any order

    bool better() const { return rivals.empty() || found.seconds < rivals.front().seconds; }
    // Another order of ranks is better than rank order and than the lists.
    bool needs_order() const {
        if (!any_order || any_order->seconds >= found.seconds) return false;
        return rivals.empty() || any_order->seconds < rivals.front().seconds;
    }
};

std::vector<int> read_chunks(const std::string& written) {
    if (written.empty()) return {};
    return read_list("--chunks", written, [](const std::string& word) {
        return static_cast<int>(number_in("--chunks", word, 1, 256));
    });
}

std::vector<Problem> problems_of(const Options& options, int ranks) {
    const auto collectives = read_list("COLLECTIVE", options.collectives, [](const std::string& word) {
        const Collective collective = read_collective(word);
        if (!synthesis::can_synthesize(collective))
            throw Error(ErrorCode::unsupported,
                        fmt::format("lists of {} cannot be synthesized; those of broadcast, gather, scatter, "
                                    "allgather, alltoall, reduce, allreduce and reduce_scatter_block can",
                                    name(collective)));
        return collective;
    });
    if (options.root < 0 || options.root >= ranks)
        throw Error(ErrorCode::invalid_argument,
                    fmt::format("--root {}: must be a rank from 0 to {}", options.root, ranks - 1));
    std::vector<std::uint64_t> sizes = read_blocks(options.bytes);
    std::sort(sizes.begin(), sizes.end());
    std::vector<Problem> problems;
    for (const Collective collective : collectives) {
        for (const std::uint64_t bytes : sizes) {
            Problem problem = measured_problem(collective, ranks, bytes);
            if (has_root(collective)) problem.root = options.root;
            problems.push_back(problem);
        }
    }
    return problems;
}

// Sizes between two that were asked for: the nearer one's lists, in proportion.
ChunkSizes sizes_of(const std::vector<Row>& rows, std::size_t index) {
    const auto middle = [&](std::size_t lower, std::size_t upper) {
        return static_cast<std::uint64_t>(std::sqrt(static_cast<double>(rows[lower].problem.bytes) *
                                                    static_cast<double>(rows[upper].problem.bytes)));
    };
    const auto same = [&](std::size_t other) {
        return other < rows.size() && rows[other].problem.collective == rows[index].problem.collective;
    };
    ChunkSizes sizes;
    if (index > 0 && same(index - 1)) sizes.min_bytes = middle(index - 1, index) + 1;
    if (same(index + 1)) sizes.max_bytes = middle(index, index + 1);
    return sizes;
}

std::string compared(const Row& row) {
    std::string text =
        fmt::format("{} of {} ranks, blocks of {} bytes: {}; no lists below {}; {}",
                    name(row.problem.collective), row.problem.ranks, row.problem.bytes,
                    print_seconds(row.found.seconds), print_seconds(row.found.bound), row.found.how);
    if (row.rivals.empty()) return text + "; every algorithm of the catalogue needs a missing link";
    const Rival& rival = row.rivals.front();
    text +=
        fmt::format("; best of the catalogue: {} {}", rival.algorithm->name, print_seconds(rival.seconds));
    if (row.any_order)
        text += fmt::format(", in the best order of ranks {} {}", row.any_order->algorithm->name,
                            print_seconds(row.any_order->seconds));
    return text;
}

std::string file_of(const Options& options, const std::vector<Row>& rows, const LinksFile& links) {
    std::string text = fmt::format(
        "# Written by lapwing synthesize {}: links {:016x} ({}), engine {}, {} steps, seed {}\n"
        "# Times are simulated.\n",
        LAPWING_VERSION, links.fingerprint, std::filesystem::path(options.topology).filename().string(),
        options.engine, options.search.steps, options.search.seed);
    for (std::size_t i = 0; i < rows.size(); ++i) {
        if (!options.always && !rows[i].better()) continue;
        ListSet set = rows[i].found.set;
        set.chunks = sizes_of(rows, i);
        set.algorithm = "synthesized";
        text += fmt::format("\n# {}\n{}", compared(rows[i]), print(set));
    }
    return text;
}

std::string percent(double part, double whole) {
    return fmt::format("{:+.0f} %", 100 * (part / whole - 1));
}

void print_rows(const std::vector<Row>& rows) {
    std::vector<std::vector<std::string>> table = {{"collective", "bytes", "chunks", "synthesized",
                                                    "best of the catalogue", "", "time",
                                                    "in any order of ranks", "", "time", "bound", "search"}};
    for (const Row& row : rows) {
        std::vector<std::string> cells = {name(row.problem.collective), std::to_string(row.problem.bytes),
                                          std::to_string(row.found.pieces), print_seconds(row.found.seconds)};
        const auto compare = [&](const Rival* rival) {
            if (rival == nullptr) {
                cells.insert(cells.end(), {"-", "-", "-"});
            } else {
                const bool moved = !std::is_sorted(rival->order.begin(), rival->order.end());
                const std::string order = moved ? fmt::format(" {}", fmt::join(rival->order, ",")) : "";
                cells.insert(cells.end(), {rival->algorithm->name + order, print_seconds(rival->seconds),
                                           percent(row.found.seconds, rival->seconds)});
            }
        };
        compare(row.rivals.empty() ? nullptr : &row.rivals.front());
        compare(row.any_order ? &*row.any_order : nullptr);
        cells.insert(cells.end(), {print_seconds(row.found.bound), row.found.how});
        table.push_back(cells);
    }
    fmt::print("{}", align(table));
    for (const Row& row : rows) {
        if (row.better()) continue;
        fmt::print("{} of {} bytes: {} of the catalogue is better: LAPWING_ALGORITHM={}={}\n",
                   name(row.problem.collective), row.problem.bytes, row.rivals.front().algorithm->name,
                   name(row.problem.collective), row.rivals.front().algorithm->name);
    }
}

Json as_json(const std::vector<Row>& rows) {
    Json all = Json::array();
    for (const Row& row : rows) {
        Json rivals = Json::array();
        for (const Rival& rival : row.rivals)
            rivals.push_back({{"algorithm", rival.algorithm->name}, {"seconds", rival.seconds}});
        all.push_back({{"problem", to_json(row.problem)},
                       {"chunks", row.found.pieces},
                       {"seconds", row.found.seconds},
                       {"bound", row.found.bound},
                       {"search", row.found.how},
                       {"catalogue", rivals}});
        if (row.any_order)
            all.back()["any_order"] = {{"algorithm", row.any_order->algorithm->name},
                                       {"order", row.any_order->order},
                                       {"seconds", row.any_order->seconds}};
    }
    return all;
}

int synthesize(const Options& options) {
    const LinksFile links = read_links(options.topology);
    SynthesisOptions how{read_chunks(options.chunks), options.search};
    std::vector<std::string> engines;
    for (const simulate::Engine& engine : simulate::engines()) engines.emplace_back(engine.name);
    const simulate::Engine& engine = simulate::engines()[pick("--engine", options.engine, engines)];
    std::optional<Tuning> tuning;
    if (!options.tuning.empty()) tuning = Tuning::read(options.tuning);
    const SynthesisStudy study(links, engine, tuning ? &*tuning : nullptr);
    const std::vector<Problem> problems = problems_of(options, links.links.ranks);
    for (const Problem& problem : problems) {
        for (const int chunks : how.pieces) {
            if (static_cast<std::uint64_t>(chunks) > problem.bytes / problem.element_bytes())
                throw Error(ErrorCode::invalid_argument,
                            fmt::format("--chunks {}: a block of {} bytes has fewer elements", chunks,
                                        problem.bytes));
        }
    }

    std::vector<Row> rows;
    for (std::size_t i = 0; i < problems.size(); ++i) {
        if (options.seconds > 0) {
            const auto end =
                std::chrono::steady_clock::now() + std::chrono::duration<double>(options.seconds);
            how.search.stop = [end] { return std::chrono::steady_clock::now() > end; };
        }
        Row row{problems[i], study.synthesize(problems[i], how), study.rivals(problems[i]),
                study.best_in_any_order(problems[i])};
        if (row.needs_order()) {
            std::optional<Synthesized> lists = study.reordered(problems[i], *row.any_order);
            if (lists && lists->seconds < row.found.seconds) row.found = std::move(*lists);
        }
        rows.push_back(std::move(row));
    }
    const bool any = options.always || std::ranges::any_of(rows, &Row::better);
    if (any && !options.output.empty())
        write_file(options.output, file_of(options, rows, links), "the lists");
    if (options.json) {
        fmt::print("{}\n", as_json(rows).dump(2));
    } else {
        print_rows(rows);
    }
    return any ? success : violations_found;
}

}  // namespace

Command add_synthesize(CommandLine& tool) {
    auto options = std::make_shared<Options>();
    CommandLine* app = tool.add_subcommand("synthesize", "Find lists for links of unequal rates");
    app->usage("Usage: lapwing synthesize COLLECTIVE --topology FILE [OPTIONS]");
    app->add_option("COLLECTIVE", options->collectives, "Collectives, such as allreduce,allgather")
        ->required();
    app->add_option("--topology", options->topology, "The links of the group; see below")
        ->type_name("FILE")
        ->required();
    app->add_option("--root", options->root, "Root of rooted collectives (0)")->type_name("R");
    app->add_option("--bytes", options->bytes, "Bytes of a block: 64Ki,1Mi or 4Ki:1Mi (64Ki)")
        ->type_name("B");
    app->add_option("--chunks", options->chunks, "Numbers of chunks per block to try (several)")
        ->type_name("N");
    app->add_option("--steps", options->search.steps, "Search steps for each number of chunks (10000)")
        ->type_name("N");
    app->add_option("--seed", options->search.seed, "Random seed of the search (1)")->type_name("N");
    app->add_option(
           "--seconds", options->seconds,
           "Time limit in seconds for the search of each size; results then depend on the machine (no limit)")
        ->type_name("S")
        ->range(0.0, 1e6);
    app->add_option("--engine", options->engine, "Engine to simulate (kernel)")->type_name("E");
    app->add_option("--tuning", options->tuning,
                    "Tuning file of `lapwing tune`, for the costs of "
                    "messages")
        ->type_name("FILE");
    app->add_option("--output,-o", options->output, "Write the lists that are better than the catalogue")
        ->type_name("FILE");
    app->add_flag("--always", options->always, "Write all lists, even if the catalogue is better");
    app->add_flag("--json", options->json, "Print JSON");
    app->footer(
        "Examples:\n"
        "  lapwing synthesize allreduce --topology my.links --bytes 64Ki,1Mi -o my.lists\n"
        "  lapwing run --algorithm iallreduce=file:my.lists -- mpirun -n 4 ./program\n\n"
        "A link file describes a group with one rank on each host:\n"
        "  ranks 4\n"
        "  rate 100mbit              of each port, in both directions\n"
        "  latency 60us              from rank to rank\n"
        "  task 5us                  of CPU time for each send and receive (by the tuning file)\n"
        "  port 3 rate 10mbit        one rank's port\n"
        "  link 0-1 rate 10mbit      between two ranks; 0>1: one way only\n"
        "  link 0-2 none             no link\n"
        "If an algorithm of the catalogue is better with the ranks in another order, its lists are the "
        "result.\n"
        "The lists are proven before they are written. The exit status is 1 when the catalogue is better "
        "for all\n"
        "sizes, and nothing was written; 2 when a file or an option is wrong.");
    return {app, [options] { return synthesize(*options); }};
}

}  // namespace lapwing::tool
