// Reduce with a flat tree: all ranks send to the root, which combines everything. For few ranks.
// Kaiser et al. 2009, "Implementation and Analysis of Nonblocking Collective Operations on SCI Networks",
// section 3.1 (flat tree), as for gather.
#include "collectives/reduction/combine.hpp"
#include "collectives/rows.hpp"

namespace lapwing::reduce {
namespace {

using namespace reduction;

Verdict applies(const Problem& problem, const Parameters&) {
    return within_scratch(problem.bytes, static_cast<std::uint64_t>(problem.ranks));
}

List build(const Problem& problem, int rank, const Parameters&) {
    const Span own = input(problem, rank, 0, problem.bytes);
    if (rank != problem.root) {
        Builder list(problem, rank, 1);
        list.send(problem.root, own);
        return list.finish();
    }
    const Span result = out(0, problem.bytes);
    const auto others = static_cast<std::size_t>(problem.ranks - 1);
    const auto peer = [&](std::size_t other) {
        return static_cast<int>(other) + (static_cast<int>(other) < rank ? 0 : 1);
    };
    Builder list(problem, rank, 3 * others + 2);
    Contributions contributions(list, problem.ordered, own, result, static_cast<std::size_t>(rank), others);
    for (std::size_t i = 0; i < others; ++i) list.recv(peer(i), contributions.of(i));
    for (std::size_t i = 0; i < others; ++i) list.wait(peer(i));
    list.copy(result, contributions.combine(list));
    return list.finish();
}

double cost(const Problem& problem, const Parameters&, const Machine& machine) {
    return cost_of_one_step(problem, machine);
}

}  // namespace

const Algorithm flat = {
    .summary = "all ranks send to the root, which combines their vectors",
    .source = "Kaiser et al. 2009, section 3.1 (flat tree)",
    .applies = applies,
    .build = build,
    .cost = cost,
};

}  // namespace lapwing::reduce
