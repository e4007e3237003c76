// Problems of every collective, for tests that go through the catalogue; more stand in task/sample.hpp.
#pragma once

#include "support/unit.hpp"
#include "task/parts.hpp"
#include "task/problem.hpp"
#include "task/sample.hpp"
#include "task/validation.hpp"

namespace lapwing {

// Of `elements` for each block, which are bytes where nothing is reduced, four bytes where something is, and
// three, of the caller's own type, where the order matters.
inline Problem problem_of(Collective collective, int ranks, int root = 0, std::uint64_t elements = 0,
                          bool in_place = false, bool ordered = false) {
    Problem problem{.collective = collective, .ranks = ranks, .root = root, .bytes = elements};
    problem.in_place = in_place;
    problem.ordered = ordered;
    if (!is_reduction(collective)) return problem;
    problem.type = ordered ? Type::opaque : Type::uint32;
    problem.op = ordered ? Operator::user : Operator::sum;
    problem.element = ordered ? 3 : 0;
    problem.bytes *= problem.element_bytes();
    return problem;
}

// The problem with blocks of several kinds: of one length, of several, some of them empty, apart from each
// other, each longer than all before it, one alone, none. As it is when its collective has no parts.
inline std::vector<Problem> with_parts(const Problem& plain) {
    if (!has_parts(plain.collective)) return {plain};
    const std::uint64_t some = 5 * (is_reduction(plain.collective) ? plain.element_bytes() : 1);
    std::vector<Problem> problems = {
        with_blocks(plain, some), with_blocks(plain, some, {.kind = Sizes::Kind::uneven}),
        with_blocks(plain, some, {.kind = Sizes::Kind::random, .seed = 1, .apart = true}),
        with_blocks(plain, 0)};
    const bool by_receiver =
        plain.collective == Collective::scatterv || plain.collective == Collective::reduce_scatter;
    const auto add = [&](const std::function<std::uint64_t(int rank)>& length) {
        problems.push_back(plain);
        problems.back().parts =
            all_parts(plain, [&](int from, int to) { return length(by_receiver ? to : from); });
        problems.back().bytes = average_block(problems.back());
    };
    add([&](int rank) { return some << std::min(rank, 5); });
    add([&](int rank) { return rank == plain.ranks / 2 ? some : 0; });
    return problems;
}

// What the rank itself knows: its own parts only.
inline Problem seen_by(const Problem& problem, int rank) {
    Problem own = problem;
    if (!own.parts.empty()) own.parts = {problem.parts_of(rank)};
    return own;
}

// The host of each rank.
using Hosts = std::vector<std::uint64_t>;

inline Problem on_hosts(Problem problem, const Hosts& hosts, std::span<const int> order = {}) {
    problem.ranks = static_cast<int>(hosts.size());
    problem.placement = std::make_shared<Placement>(hosts, order);
    validate(problem);
    return problem;
}

inline Hosts blocks_of_ranks(int hosts, int each) {
    Hosts all;
    for (int host = 0; host < hosts; ++host)
        for (int i = 0; i < each; ++i) all.push_back(static_cast<std::uint64_t>(host));
    return all;
}

}  // namespace lapwing
