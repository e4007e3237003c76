// Allreduce by Rabenseifner's algorithm: reduce-scatter by recursive halving, then an allgather along the
// same steps in reverse. For long vectors. Rabenseifner 2004, "Optimization of Collective Reduction
// Operations"; Thakur, Rabenseifner, Gropp 2005, "Optimization of Collective Communication Operations in
// MPICH", section 4.4.
//
// The halving begins with the nearest rank, so that rank order is kept. A number of ranks that is no power of
// two is folded.
#include "collectives/reduction/halving.hpp"
#include "collectives/rows.hpp"
#include "collectives/vector_blocks.hpp"

namespace lapwing::allreduce {
namespace {

using reduction::Halving;
using reduction::HalvingStep;
using reduction::span_of;

Verdict applies(const Problem& problem, const Parameters&) {
    return within_scratch(problem.bytes, 5);
}

List build(const Problem& problem, int rank, const Parameters&) {
    const reduction::Fold fold(problem.ranks);
    const int partner = fold.partner(rank);

    const Span own = input(problem, rank, 0, problem.bytes);
    const Span result = out(0, problem.bytes);
    if (fold.sits_out(rank)) return reduction::build_sitting_out(problem, rank, partner, own, result);
    const VectorBlocks pieces(problem.bytes, problem.element_bytes(), fold.core());
    Halving halving(problem, fold, rank, Halving::Order::nearest_first,
                    [&](int c) { return pieces.begin(c); });
    const std::vector<HalvingStep>& steps = halving.steps();

    Builder list(problem, rank, 8 * steps.size() + 6);
    // Where the pieces of the result are collected: not in out while the input lies there.
    const Span memory = problem.in_place && problem.ranks > 1 ? list.scratch(problem.bytes) : result;
    const auto in_memory = [&](reduction::Region region) { return span_of(region, halving.whole(), memory); };
    const Span from_partner = fold.paired(rank) ? list.scratch(problem.bytes) : Span{};
    if (fold.paired(rank)) list.recv(partner, from_partner);
    halving.offer(list, in_memory(halving.last()));
    for (std::size_t i = steps.size(); i-- > 0;) {
        if (steps[i].sent.bytes > 0) list.recv(steps[i].peer, in_memory(steps[i].sent));
    }

    Span held = own;
    if (fold.paired(rank)) {
        list.wait(partner);
        held = reduction::combine(list, problem, own, from_partner, partner < rank);
    }
    list.copy(in_memory(halving.last()), halving.run(list, held, result));
    for (std::size_t i = steps.size(); i-- > 0;) {
        if (steps[i].kept.bytes > 0) list.send(steps[i].peer, in_memory(steps[i].kept));
        if (steps[i].sent.bytes > 0) list.wait(steps[i].peer);
    }
    if (fold.paired(rank)) list.send(partner, memory);
    list.copy(result, memory);
    return list.finish();
}

double cost(const Problem& problem, const Parameters&, const Machine& machine) {
    const reduction::Fold fold(problem.ranks);
    const double bytes = static_cast<double>(problem.bytes);
    const double message = machine.latency + 2 * machine.task + bytes * machine.per_byte;
    const double allgather = ceil_log2(fold.core()) * (machine.latency + 2 * machine.task) +
                             bytes * (fold.core() - 1) / fold.core() * machine.per_byte;
    return (fold.pairs() > 0 ? 2 * message + bytes * machine.copy_per_byte : 0) +
           reduction::cost_of_halving(bytes, fold.core(), machine) + allgather;
}

}  // namespace

const Algorithm rabenseifner = {
    .summary = "reduce-scatter by recursive halving, then allgather by recursive doubling",
    .source = "Rabenseifner 2004; Thakur, Rabenseifner, Gropp 2005, section 4.4",
    .applies = applies,
    .build = build,
    .cost = cost,
};

}  // namespace lapwing::allreduce
