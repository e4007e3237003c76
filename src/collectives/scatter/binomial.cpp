// Scatter along a binomial tree: the binomial gather, mirrored.
// Chan, Heimlich, Purkayastha, van de Geijn 2007, "Collective communication: theory, practice, and
// experience" (the scatter along a minimum spanning tree); Thakur, Rabenseifner, Gropp 2005, "Optimization
// of Collective Communication Operations in MPICH", section 4.2.
//
// The blocks of a subtree arrive in scratch as one message; from the root's in they go straight, as two
// messages where the order of ranks wraps around. The largest subtree is served first: its way is longest.
#include <cstddef>

#include "collectives/arithmetic.hpp"
#include "collectives/blocks.hpp"
#include "collectives/subtrees.hpp"
#include "task/builder.hpp"

namespace lapwing::scatter {
namespace {

List build(const Problem& problem, int rank, const Parameters&) {
    const Place place = binomial_place(problem, rank);
    const int relative = place.own.begin;
    const auto absolute = [&](int r) { return absolute_rank(r, problem.root, problem.ranks); };
    const auto blocks = [&](int count) { return static_cast<std::uint64_t>(count) * problem.bytes; };
    const Span own = block_from(problem, rank, problem.root);

    Builder list(problem, rank, 2 * place.children.size() + 4);
    Span held = own;  // by a leaf; by others, the blocks of the whole subtree
    if (relative != 0 && !place.children.empty()) held = list.scratch(blocks(place.own.end - relative));
    const auto part = [&](Subtree run) {
        if (relative == 0) return in(blocks(absolute(run.begin)), blocks(run.end - run.begin));
        return held.part(blocks(run.begin - relative), blocks(run.end - run.begin));
    };
    if (relative != 0) {
        const Runs runs = runs_between(problem, place.parent, place.own);
        for (const Subtree& run : runs) list.recv(absolute(place.parent), part(run));
        list.wait(absolute(place.parent), runs.count);
    }
    for (std::size_t i = place.children.size(); i-- > 0;) {
        const Subtree child = place.children[i];
        for (const Subtree& run : runs_between(problem, relative, child))
            list.send(absolute(child.begin), part(run));
    }
    list.copy(own, part({relative, relative + 1}));
    return list.finish();
}

double cost(const Problem& problem, const Parameters&, const Machine& machine) {
    return cost_along_tree(problem, ceil_log2(problem.ranks), machine);
}

}  // namespace

const Algorithm binomial = {
    .summary = "in each step the ranks that hold blocks hand on half of them",
    .source = "Chan et al. 2007; Thakur, Rabenseifner, Gropp 2005, section 4.2",
    .build = build,
    .cost = cost,
};

}  // namespace lapwing::scatter
