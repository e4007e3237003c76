#include "lapwing/explain/problem.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.hpp"
#include "base/values.hpp"
#include "command_line/command_line.hpp"
#include "lapwing/common/values.hpp"
#include "task/validation.hpp"

namespace lapwing::tool {
namespace {

// Where every rank has a block for, or from, every other.
constexpr int max_ranks_with_parts = 4096;
// And ranks of each.
constexpr int max_hosts_told = 16;

// The default type is one that the operator supports; the default block is one element of it.
void read_reduction(const ProblemOptions& options, Problem& problem) {
    if (!is_reduction(problem.collective)) {
        for (const auto& [given, option] : {std::pair(!options.op.empty(), "--op"),
                                            {!options.type.empty(), "--type"},
                                            {options.ordered, "--ordered"}}) {
            if (given)
                throw_invalid(fmt::format("{} is not a reduction: {} does not apply",
                                          name(problem.collective), option));
        }
        return;
    }
    if (!options.op.empty()) problem.op = named("--op", [&] { return read_operator(options.op); });
    problem.ordered = options.ordered;
    const std::string type = !options.type.empty()                ? options.type
                             : problem.op == Operator::user       ? "opaque:8"
                             : applies(problem.op, Type::float64) ? "float64"
                             : applies(problem.op, Type::int64)   ? "int64"
                                                                  : "float64_int32";
    std::tie(problem.type, problem.element) = named("--type", [&] { return read_type(type); });
}

std::uint64_t block_of(const ProblemOptions& options, const Problem& problem) {
    if (problem.collective == Collective::barrier)
        return options.bytes.empty() ? 0 : read_bytes("--bytes", options.bytes);
    const bool reduces = is_reduction(problem.collective);
    if (options.bytes.empty()) return reduces ? std::max<std::uint64_t>(problem.element_bytes(), 1) : 8;
    return read_bytes("--bytes", options.bytes);
}

}  // namespace

std::string AskedProblem::what() const {
    std::string text = fmt::format("{} on {}", name(problem.collective), counted(problem.ranks, "rank"));
    if (has_root(problem.collective)) text += fmt::format(", root {}", problem.root);
    if (problem.collective != Collective::barrier) {
        text += sizes.kind == Sizes::Kind::even
                    ? fmt::format(", {} in a block", counted(bytes, "byte"))
                    : fmt::format(", up to {} in a block", counted(2 * bytes, "byte"));
    }
    if (is_reduction(problem.collective)) {
        text += fmt::format(", {} of {}{}", name(problem.op), name(problem.type),
                            problem.ordered ? " in the order of the ranks" : "");
    }
    if (problem.in_place) text += ", in place";
    return text;
}

std::string AskedProblem::lengths() const {
    if (!has_parts(problem.collective)) return "";
    switch (sizes.kind) {
        case Sizes::Kind::even:
            return "all of one length; for others use --sizes uneven or a seed";
        case Sizes::Kind::uneven:
            return fmt::format("of 0, 1/2, 1, 1 1/2 and 2 times {}, in turn", counted(bytes, "byte"));
        case Sizes::Kind::random:
            break;
    }
    return fmt::format("of random lengths up to {}, from the seed {}", counted(2 * bytes, "byte"),
                       sizes.seed);
}

std::string AskedProblem::hosts() const {
    const Placement* placement = problem.placement.get();
    if (placement == nullptr) return "";
    std::string text = fmt::format("{}: ", placement->hosts());
    for (int host = 0; host < placement->hosts(); ++host) {
        if (host == max_hosts_told) return text + ", ...";
        text += host == 0 ? "ranks" : "; ranks";
        const std::span<const int> ranks = placement->ranks_of(host);
        for (std::size_t i = 0; i < ranks.size(); ++i) {
            if (i == max_hosts_told) {
                text += " ...";
                break;
            }
            for (int level = 1; level < placement->levels() && i > 0; ++level) {
                if (placement->group_of(level, ranks[i]) == placement->group_of(level, ranks[i - 1]))
                    continue;
                text += " |";
                break;
            }
            text += fmt::format(" {}", ranks[i]);
        }
    }
    return text;
}

void add_problem_options(CommandLine& app, ProblemOptions& options) {
    app.add_option("COLLECTIVE", options.collective, "Such as broadcast, bcast or MPI_Ibcast")->required();
    app.add_option("--ranks", options.ranks, "Size of the group")->type_name("P");
    app.add_option("--bytes", options.bytes,
                   "Bytes of one block, such as 1000 or 64Ki (8; for reductions "
                   "one element)")
        ->type_name("N");
    app.add_option("--sizes", options.sizes,
                   "Block lengths of alltoallv and similar collectives: even, uneven, or a seed for random "
                   "lengths (even)")
        ->type_name("S");
    app.add_option("--root", options.root, "The root of a rooted collective (0)")->type_name("R");
    app.add_flag("--in-place", options.in_place, "The input is in the output buffer, as with MPI_IN_PLACE");
    app.add_option("--op", options.op,
                   "Operator of a reduction: sum, maximum, ..., or user for the caller's function (sum)")
        ->type_name("O");
    app.add_option("--type", options.type,
                   "Type of a reduction: float64, ..., or opaque:24, 24 bytes, with --op user")
        ->type_name("T");
    app.add_flag("--ordered", options.ordered, "The operator of a reduction does not commute");
    app.add_option("--hosts", options.hosts,
                   "Hosts of the ranks: one, several; 2x4 (two hosts of four), 1+3+2, or the host of each "
                   "rank, 0,1,0,1 (several)")
        ->type_name("H");
    add_inner_group_options(app, options.inner);
}

AskedProblem read_problem(const ProblemOptions& options) {
    AskedProblem asked;
    Problem& problem = asked.problem;
    problem.collective = read_collective(options.collective);
    const Hosts hosts = named("--hosts", [&] { return read_hosts(options.hosts); });
    asked.several_hosts = hosts.several;
    problem.placement = hosts.placement;
    if (!options.ranks && hosts.placement == nullptr) {
        throw_invalid("give the number of ranks, as in --ranks 4, or their hosts, as in --hosts 2x4");
    }
    problem.ranks = options.ranks ? *options.ranks : hosts.placement->ranks();
    if (problem.ranks > max_ranks)
        throw_invalid(fmt::format("--ranks must be at most {1}, not {0}", problem.ranks, max_ranks));
    if (options.inner.any()) {
        if (hosts.placement == nullptr && hosts.several)
            throw_invalid(
                "--numa and --caches need hosts to divide: add --hosts one or, for example, "
                "--hosts 2x64");
        if (problem.ranks < 1) throw_invalid("--ranks must be at least 1");
        const std::vector<std::uint64_t> one_host(static_cast<std::size_t>(problem.ranks));
        problem.placement =
            with_inner_groups(hosts.placement ? *hosts.placement : Placement(one_host), options.inner);
    }
    problem.root = options.root;
    problem.in_place = options.in_place;
    read_reduction(options, problem);
    asked.bytes = block_of(options, problem);
    if (!has_parts(problem.collective)) {
        if (!options.sizes.empty()) {
            throw_invalid(
                fmt::format("{} has blocks of one length: --sizes does not apply", name(problem.collective)));
        }
        problem.bytes = asked.bytes;
        validate(problem);
        return asked;
    }
    if (!options.sizes.empty()) asked.sizes = named("--sizes", [&] { return read_sizes(options.sizes); });
    // The same problem with blocks of one length tells whether all but the lengths makes sense.
    Problem alike = problem;
    alike.collective = is_reduction(problem.collective) ? Collective::reduce_scatter_block
                       : has_root(problem.collective)   ? Collective::gather
                                                        : Collective::allgather;
    alike.in_place = false;
    alike.bytes = asked.bytes;
    validate(alike);
    const bool all_know_all = !has_root(problem.collective) && !has_neighbors(problem.collective);
    if (all_know_all && problem.ranks > max_ranks_with_parts) {
        throw Error(ErrorCode::unsupported,
                    fmt::format("cannot show the blocks of {} ranks: the maximum is {}", problem.ranks,
                                max_ranks_with_parts));
    }
    problem = with_blocks(problem, asked.bytes, asked.sizes);
    validate(problem);
    return asked;
}

}  // namespace lapwing::tool
