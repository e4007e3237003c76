#include "task/sample.hpp"

#include <algorithm>
#include <memory>
#include <numeric>
#include <set>
#include <utility>

namespace lapwing {
namespace {

// Numbers that look random, the same everywhere (splitmix64).
std::uint64_t mixed(std::uint64_t number) {
    number += 0x9e3779b97f4a7c15U;
    number = (number ^ (number >> 30)) * 0xbf58476d1ce4e5b9U;
    number = (number ^ (number >> 27)) * 0x94d049bb133111ebU;
    return number ^ (number >> 31);
}
std::uint64_t mixed(std::uint64_t seed, int from, int to) {
    return mixed(mixed(mixed(seed) + static_cast<std::uint64_t>(from)) + static_cast<std::uint64_t>(to));
}

BlockLength lengths(const Problem& problem, std::uint64_t bytes, const Sizes& sizes) {
    const std::uint64_t element = is_reduction(problem.collective) ? problem.element_bytes() : 1;
    const std::uint64_t elements = bytes / element;
    const bool one_for_all = problem.collective == Collective::neighbor_allgather;
    return [=](int from, int to) {
        if (one_for_all) to = 0;
        switch (sizes.kind) {
            case Sizes::Kind::even:
                break;
            case Sizes::Kind::uneven: {
                constexpr std::uint64_t halves[] = {2, 0, 4, 1, 3};
                // No two of the ranks that follow each other have the same lengths for the same others.
                const std::size_t turn =
                    (static_cast<std::size_t>(from) + 2 * static_cast<std::size_t>(to)) % 5;
                return elements * halves[turn] / 2 * element;
            }
            case Sizes::Kind::random:
                return mixed(sizes.seed, from, to) % (2 * elements + 1) * element;
        }
        return elements * element;
    };
}

// From the last to the first, with gaps.
void set_apart(std::vector<Part>& parts, int rank) {
    if (parts.size() == 1) return;
    std::uint64_t end = 0;
    for (auto part = parts.rbegin(); part != parts.rend(); ++part) {
        end += 1 + static_cast<std::uint64_t>(rank % 3);
        part->offset = end;
        end += part->bytes;
    }
}

void set_apart(Problem& problem) {
    // These stand side by side by their nature.
    if (problem.collective == Collective::reduce_scatter) return;
    for (int rank = 0; rank < problem.ranks; ++rank) {
        Parts& parts = problem.parts[static_cast<std::size_t>(rank)];
        set_apart(parts.receives, rank);
        if (problem.collective != Collective::neighbor_allgather) set_apart(parts.sends, rank);
    }
}

// Each rank sends to itself and to the next.
std::vector<Neighbors> line_with_loops(int ranks) {
    std::vector<Neighbors> graph;
    for (int rank = 0; rank < ranks; ++rank) {
        const int before = rank == 0 ? ranks - 1 : rank - 1;
        const int behind = rank == ranks - 1 ? 0 : rank + 1;
        graph.push_back({{rank, before}, {behind, rank}});
    }
    return graph;
}

// Each rank sends to the next twice, and to the one before it in between.
std::vector<Neighbors> line_with_double_edges(int ranks) {
    std::vector<Neighbors> graph;
    for (int rank = 0; rank < ranks; ++rank) {
        const int before = rank == 0 ? ranks - 1 : rank - 1;
        const int behind = rank == ranks - 1 ? 0 : rank + 1;
        graph.push_back({{before, before, behind}, {behind, before, behind}});
    }
    return graph;
}

// About four neighbours for each rank, some of them twice; the order of sources is not that of their ranks.
std::vector<Neighbors> random_graph(int ranks) {
    std::vector<Neighbors> graph(static_cast<std::size_t>(ranks));
    const auto wanted = static_cast<std::uint64_t>(std::max(2, ranks / 4));
    for (int from = 0; from < ranks; ++from) {
        for (int to = 0; to < ranks; ++to) {
            const std::uint64_t number = mixed(static_cast<std::uint64_t>(ranks), from, to);
            if (number % wanted != 0) continue;
            for (std::uint64_t times = number / wanted % 4 == 0 ? 2 : 1; times > 0; --times) {
                graph[static_cast<std::size_t>(from)].destinations.push_back(to);
                std::vector<int>& sources = graph[static_cast<std::size_t>(to)].sources;
                sources.insert(sources.begin(), from);
            }
        }
    }
    return graph;
}

// With `problem` as it is given, but for its blocks.
void add_blocks(std::vector<Problem>& problems, const Problem& problem, std::uint64_t bytes) {
    using Kind = Sizes::Kind;
    if (!has_parts(problem.collective)) {
        problems.push_back(with_blocks(problem, bytes));
    } else if (bytes == 0) {
        problems.push_back(with_blocks(problem, 0));
    } else if (has_neighbors(problem.collective)) {
        const int ranks = problem.ranks;
        problems.push_back(with_blocks(problem, bytes));
        problems.push_back(with_blocks(problem, bytes, {.kind = Kind::uneven}, line_with_loops(ranks)));
        problems.push_back(with_blocks(problem, bytes, {.apart = true}, line_with_double_edges(ranks)));
        problems.push_back(
            with_blocks(problem, bytes, {.kind = Kind::random, .apart = true}, random_graph(ranks)));
    } else {
        problems.push_back(with_blocks(problem, bytes));
        problems.push_back(with_blocks(problem, bytes, {.kind = Kind::uneven}));
        problems.push_back(with_blocks(problem, bytes, {.kind = Kind::random, .seed = bytes, .apart = true}));
    }
}

// As the host of each rank: of 1, 3 and 2 ranks, and again; dealt round robin; in blocks of one size.
std::vector<std::vector<int>> hosts_of_every_kind(int ranks) {
    const int size = ranks < 12 ? (ranks + 1) / 2 : 4;
    const int hosts = (ranks + size - 1) / size;
    std::vector<std::vector<int>> kinds(3);
    for (int rank = 0; rank < ranks; ++rank) {
        kinds[0].push_back(rank / 6 * 3 + (rank % 6 == 0 ? 0 : rank % 6 <= 3 ? 1 : 2));
        kinds[1].push_back(rank % hosts);
        kinds[2].push_back(rank / size);
    }
    return kinds;
}

// Groups inside the hosts of the last kind, on two levels and of several sizes. `turn` shuffles ranks.
std::shared_ptr<const Placement> with_groups(std::vector<std::uint64_t> hosts, std::size_t turn) {
    const std::size_t ranks = hosts.size();
    std::vector<std::vector<std::uint64_t>> groups(2);
    for (std::size_t rank = 0; rank < ranks; ++rank) {
        const std::size_t seat = rank * turn % ranks;
        groups[0].push_back(2 * (seat / 7) + (seat % 7 < 5 ? 0 : 1));
        groups[1].push_back(seat % 7 / 2);
    }
    return std::make_shared<Placement>(hosts, std::span<const int>{}, groups);
}

}  // namespace

Problem with_blocks(Problem problem, std::uint64_t bytes, const Sizes& sizes) {
    return with_blocks(std::move(problem), bytes, sizes, {});
}

Problem with_blocks(Problem problem, std::uint64_t bytes, const Sizes& sizes,
                    std::span<const Neighbors> graph) {
    const BlockLength length = lengths(problem, bytes, sizes);
    if (!has_parts(problem.collective)) {
        if (problem.collective != Collective::barrier) problem.bytes = length(0, 0);
        return problem;
    }
    if (has_neighbors(problem.collective)) {
        problem.parts = graph.empty() ? parts_of_graph(problem, periodic_line(problem.ranks), length)
                                      : parts_of_graph(problem, graph, length);
    } else {
        problem.parts = all_parts(problem, length);
    }
    if (sizes.apart) set_apart(problem);
    problem.bytes = average_block(problem);
    return problem;
}

std::vector<Problem> sample_problems(Collective collective, int ranks, std::uint64_t bytes) {
    std::set<int> roots = {0};
    if (has_root(collective)) roots = {0, std::min(1, ranks - 1), ranks / 2, ranks - 1};
    std::vector<Problem> problems;
    for (const int root : roots) {
        for (const bool in_place : {false, true}) {
            if (in_place && !may_be_in_place(collective)) continue;
            Problem problem;
            problem.collective = collective;
            problem.ranks = ranks;
            problem.root = root;
            problem.in_place = in_place;
            if (!is_reduction(collective)) {
                add_blocks(problems, problem, bytes);
                continue;
            }
            problem.type = Type::uint32;
            add_blocks(problems, problem, bytes);
            problem.op = Operator::user;
            problem.type = Type::opaque;
            problem.element = 8;
            problem.ordered = true;
            add_blocks(problems, problem, bytes);
        }
    }
    return problems;
}

std::vector<std::shared_ptr<const Placement>> placements_of_every_kind(int ranks) {
    std::vector<std::shared_ptr<const Placement>> placements;
    std::vector<std::uint64_t> numbers;
    for (const std::vector<int>& hosts : hosts_of_every_kind(ranks)) {
        numbers.assign(hosts.begin(), hosts.end());
        placements.push_back(std::make_shared<Placement>(numbers));
    }
    std::vector<int> backwards;
    for (int rank = ranks; rank-- > 0;) backwards.push_back(rank);
    placements.push_back(std::make_shared<Placement>(numbers, backwards));
    placements.push_back(with_groups(numbers, 1));
    numbers.assign(numbers.size(), 0);
    // Neighbours in rank order are far apart, as with mpirun --map-by.
    std::size_t turn = 2;
    while (std::gcd(turn, numbers.size()) > 1) ++turn;
    placements.push_back(with_groups(numbers, 1));
    placements.push_back(with_groups(numbers, turn));
    return placements;
}

std::vector<Problem> sample_problems_on_hosts(Collective collective, int ranks, std::uint64_t bytes) {
    constexpr int max_ranks_everywhere = 4;
    const auto placements = placements_of_every_kind(ranks);
    const std::size_t on_one_host = 2;  // the last ones
    const std::size_t on_several = placements.size() - on_one_host;
    std::vector<Problem> problems;
    std::size_t turn = static_cast<std::size_t>(ranks);
    const auto add = [&](const Problem& problem, std::size_t placement) {
        problems.push_back(problem);
        problems.back().placement = placements[placement];
    };
    std::size_t count = 0;
    for (const Problem& problem : sample_problems(collective, ranks, bytes)) {
        if (ranks <= max_ranks_everywhere) {
            // Of so few ranks, some kinds are the same.
            for (std::size_t i = 0; i < placements.size(); ++i) {
                const auto same = [&](const auto& other) { return *other == *placements[i]; };
                const auto here = placements.begin() + static_cast<std::ptrdiff_t>(i);
                if (std::none_of(placements.begin(), here, same)) add(problem, i);
            }
            continue;
        }
        add(problem, turn % on_several);
        add(problem, on_several + turn % on_one_host);
        ++turn;
        // What changes from problem to problem in a period of its own meets other hosts the next time.
        if (++count % on_several == 0) ++turn;
    }
    return problems;
}

}  // namespace lapwing
