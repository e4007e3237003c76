// Allreduce in one step: every rank sends its vector to every other rank, and combines all vectors. For few
// ranks and short vectors: once it is started, no rank needs the progress of another to complete.
// Hoefler, Lumsdaine, Rehm 2007, "Implementation and Performance Analysis of Non-Blocking Collective
// Operations for MPI".
//
// All ranks combine in rank order and therefore have the same result to the last bit.
#include "collectives/arithmetic.hpp"
#include "collectives/reduction/combine.hpp"
#include "collectives/rows.hpp"

namespace lapwing::allreduce {
namespace {

Verdict applies(const Problem& problem, const Parameters&) {
    return within_scratch(problem.bytes, static_cast<std::uint64_t>(problem.ranks) + 2);
}

List build(const Problem& problem, int rank, const Parameters&) {
    const int ranks = problem.ranks;
    const auto above = [&](int distance) { return absolute_rank(distance, rank, ranks); };
    const Span own = input(problem, rank, 0, problem.bytes);
    const Span result = out(0, problem.bytes);

    Builder list(problem, rank, 4 * static_cast<std::uint64_t>(ranks) + 2);
    reduction::Contributions contributions(list, true, own, problem.in_place ? Span{} : result,
                                           static_cast<std::size_t>(rank),
                                           static_cast<std::size_t>(ranks - 1));
    const auto arrival = [&](int r) {
        return contributions.of(static_cast<std::size_t>(r < rank ? r : r - 1));
    };
    for (int d = 1; d < ranks; ++d) list.recv(above(ranks - d), arrival(above(ranks - d)));
    const Span sent = ranks > 1 ? reduction::sendable(list, own, result) : own;
    for (int d = 1; d < ranks; ++d) list.send(above(d), sent);
    for (int d = 1; d < ranks; ++d) list.wait(above(ranks - d));
    list.copy(result, contributions.combine(list));
    return list.finish();
}

double cost(const Problem& problem, const Parameters&, const Machine& machine) {
    return reduction::cost_of_one_step(problem, machine);
}

}  // namespace

const Algorithm flat = {
    .summary = "every rank sends its vector to every other rank, and combines all vectors, in one step",
    .source = "Hoefler, Lumsdaine, Rehm 2007",
    .applies = applies,
    .build = build,
    .cost = cost,
};

}  // namespace lapwing::allreduce
