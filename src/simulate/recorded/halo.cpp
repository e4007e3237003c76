#include "simulate/recorded/halo.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>

#include "task/parts.hpp"

namespace lapwing::simulate {
namespace {

// Calls visit(neighbour, dimension) for the neighbours of a rank.
void each_neighbor(const HaloRule& rule, int rank, int ranks,
                   const std::function<void(int, std::size_t)>& visit) {
    const std::array<int, 3> sides = rule.grid.sides(ranks);
    const std::array<int, 3> place = rule.grid.place(rank, ranks);
    for (std::size_t d = 0; d < 3; ++d) {
        for (const int step : {-1, 1}) {
            std::array<int, 3> other = place;
            other[d] += step;
            if (rule.around && sides[d] > 1) other[d] = (other[d] + sides[d]) % sides[d];
            if (other[d] >= 0 && other[d] < sides[d]) visit(rule.grid.rank(other, ranks), d);
        }
    }
}

bool follows(const HaloRule& rule, const Problem& problem) {
    for (int rank = 0; rank < problem.ranks; ++rank) {
        std::set<int> expected;
        std::set<int> found;
        each_neighbor(rule, rank, problem.ranks,
                      [&](int neighbor, std::size_t) { expected.insert(neighbor); });
        for (const Part& part : problem.parts_of(rank).sends) {
            if (part.bytes > 0) found.insert(part.peer);
        }
        if (found != expected) return false;
    }
    return true;
}

// The average along each dimension; along one without neighbours, of all.
std::array<std::uint64_t, 3> bytes_along(const HaloRule& rule, const Problem& problem) {
    std::array<double, 3> sums{};
    std::array<double, 3> counts{};
    for (int rank = 0; rank < problem.ranks; ++rank) {
        each_neighbor(rule, rank, problem.ranks, [&](int neighbor, std::size_t d) {
            const std::vector<Part>& sends = problem.parts_of(rank).sends;
            const auto part = std::find_if(sends.begin(), sends.end(), [&](const Part& one) {
                return one.peer == neighbor && one.bytes > 0;
            });
            if (part == sends.end()) return;
            sums[d] += static_cast<double>(part->bytes);
            counts[d] += 1;
        });
    }
    const double all = (sums[0] + sums[1] + sums[2]) / std::max(counts[0] + counts[1] + counts[2], 1.0);
    std::array<std::uint64_t, 3> bytes{};
    for (std::size_t d = 0; d < 3; ++d) {
        bytes[d] = static_cast<std::uint64_t>(std::llround(counts[d] > 0 ? sums[d] / counts[d] : all));
    }
    return bytes;
}

// Into how many parts a grid cuts the faces across a dimension.
double parts_across(const GridRule& grid, int ranks, std::size_t dimension) {
    const std::array<int, 3> sides = grid.sides(ranks);
    return static_cast<double>(ranks) / sides[dimension];
}

// Whether the faces of all grids are parts of the same ones, within `tolerance`.
bool are_cut(const HaloRule& rule, std::span<const Problem* const> problems) {
    constexpr double tolerance = 0.05;
    std::array<double, 3> whole{};
    std::array<int, 3> seen{};
    for (const Problem* one : problems) {
        const std::array<std::uint64_t, 3> bytes = bytes_along(rule, *one);
        for (std::size_t d = 0; d < 3; ++d) {
            if (rule.grid.sides(one->ranks)[d] == 1) continue;
            const double face = static_cast<double>(bytes[d]) * parts_across(rule.grid, one->ranks, d);
            if (seen[d]++ == 0) whole[d] = face;
            if (std::abs(face - whole[d]) > tolerance * whole[d]) return false;
        }
    }
    return seen[0] > 1 || seen[1] > 1 || seen[2] > 1;
}

// Of a dimension without neighbours: a part of a face as large as those of the other dimensions, on average.
void guess_faces(HaloRule& rule) {
    const std::array<int, 3> sides = rule.grid.sides(rule.ranks);
    double whole = 0;
    int known = 0;
    for (std::size_t d = 0; d < 3; ++d) {
        if (sides[d] == 1) continue;
        whole += static_cast<double>(rule.bytes[d]) * parts_across(rule.grid, rule.ranks, d);
        ++known;
    }
    for (std::size_t d = 0; d < 3; ++d) {
        if (sides[d] > 1 || known == 0) continue;
        rule.bytes[d] =
            static_cast<std::uint64_t>(std::llround(whole / known / parts_across(rule.grid, rule.ranks, d)));
    }
}

}  // namespace

Problem HaloRule::problem(const Problem& recorded, int count, double factor) const {
    Problem problem{.collective = Collective::neighbor_alltoall, .ranks = count};
    if (has_neighbors(recorded.collective)) problem.collective = recorded.collective;
    std::vector<Neighbors> graph(static_cast<std::size_t>(count));
    for (int rank = 0; rank < count; ++rank) {
        std::set<int> known;  // along a line of two ranks both neighbours are one
        each_neighbor(*this, rank, count, [&](int neighbor, std::size_t) {
            if (!known.insert(neighbor).second) return;
            graph[static_cast<std::size_t>(rank)].sources.push_back(neighbor);
            graph[static_cast<std::size_t>(rank)].destinations.push_back(neighbor);
        });
    }
    problem.parts = parts_of_graph(problem, graph, [&](int from, int to) {
        const std::array<int, 3> one = grid.place(from, count);
        const std::array<int, 3> other = grid.place(to, count);
        const std::size_t d = one[0] != other[0] ? 0 : one[1] != other[1] ? 1 : 2;
        const double by = cut ? parts_across(grid, ranks, d) / parts_across(grid, count, d) : factor;
        return static_cast<std::uint64_t>(std::llround(static_cast<double>(bytes[d]) * by));
    });
    problem.bytes = average_block(problem);
    return problem;
}

std::optional<HaloRule> find_halo_rule(std::span<const Problem* const> problems, int dimensions) {
    for (const GridRule& grid : grid_rules()) {
        if (dimensions > 0 && grid.dimensions != dimensions) continue;
        for (const bool around : {false, true}) {
            HaloRule rule{.grid = grid, .around = around};
            if (!std::all_of(problems.begin(), problems.end(),
                             [&](const Problem* one) { return follows(rule, *one); })) {
                continue;
            }
            const auto largest = std::max_element(
                problems.begin(), problems.end(),
                [](const Problem* one, const Problem* other) { return one->ranks < other->ranks; });
            rule.ranks = (*largest)->ranks;
            rule.bytes = bytes_along(rule, **largest);
            rule.cut = are_cut(rule, problems);
            if (rule.cut) guess_faces(rule);
            return rule;
        }
    }
    return {};
}

}  // namespace lapwing::simulate
