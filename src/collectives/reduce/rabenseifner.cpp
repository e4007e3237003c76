// Reduce by Rabenseifner's algorithm: reduce-scatter by recursive halving, then a gather along the same steps
// in reverse. For long vectors. Rabenseifner 2004, "Optimization of Collective Reduction Operations"; Thakur,
// Rabenseifner, Gropp 2005, "Optimization of Collective Communication Operations in MPICH", section 4.4.
//
// The halving begins with the nearest rank, so that rank order is kept. A number of ranks that is no power of
// two is folded; the root never sits out.
#include "collectives/reduction/halving.hpp"
#include "collectives/rows.hpp"
#include "collectives/vector_blocks.hpp"

namespace lapwing::reduce {
namespace {

using namespace reduction;

Verdict applies(const Problem& problem, const Parameters&) {
    return within_scratch(problem.bytes, 5);
}

// The number of steps that this rank undoes: it receives the pieces of its peers, until a peer is nearer to
// the root.
std::size_t steps_undone(const Halving& halving, int differs) {
    std::size_t undone = 0;
    while (undone < halving.steps().size() &&
           (halving.steps()[halving.steps().size() - 1 - undone].mask & differs) == 0) {
        ++undone;
    }
    return undone;
}

List build(const Problem& problem, int rank, const Parameters&) {
    const Fold fold(problem.ranks, problem.root);
    const Span own = input(problem, rank, 0, problem.bytes);
    if (fold.sits_out(rank)) {
        Builder list(problem, rank, 1);
        list.send(fold.partner(rank), own);
        return list.finish();
    }
    const bool root = rank == problem.root;
    const Span result = root ? out(0, problem.bytes) : Span{};
    const VectorBlocks pieces(problem.bytes, problem.element_bytes(), fold.core());
    Halving halving(problem, fold, rank, Halving::Order::nearest_first,
                    [&](int c) { return pieces.begin(c); });
    const std::vector<HalvingStep>& steps = halving.steps();
    const std::size_t undone = steps_undone(halving, fold.core_rank(rank) ^ fold.core_rank(problem.root));
    const std::size_t left = steps.size() - undone;  // 0: this is the root

    Builder list(problem, rank, 6 * steps.size() + 6);
    const Region gathered = left == 0 ? halving.whole() : steps[left - 1].kept;
    const bool direct = root && (own.space == Space::in || problem.ranks == 1);
    const Span memory = direct ? result : list.scratch(gathered.bytes);

    const Span from_partner = fold.paired(rank) ? list.scratch(problem.bytes) : Span{};
    if (fold.paired(rank)) list.recv(fold.partner(rank), from_partner);
    halving.offer(list, span_of(halving.last(), gathered, memory));
    for (std::size_t i = steps.size(); i-- > left;) {
        if (steps[i].sent.bytes > 0) list.recv(steps[i].peer, span_of(steps[i].sent, gathered, memory));
    }

    Span held = own;
    if (fold.paired(rank)) {
        list.wait(fold.partner(rank));
        held = combine(list, problem, own, from_partner, fold.partner(rank) < rank);
    }
    list.copy(span_of(halving.last(), gathered, memory), halving.run(list, held, result));
    for (std::size_t i = steps.size(); i-- > left;) {
        if (steps[i].sent.bytes > 0) list.wait(steps[i].peer);
    }
    if (left > 0 && gathered.bytes > 0) list.send(steps[left - 1].peer, memory);
    if (root) list.copy(result, memory);
    return list.finish();
}

double cost(const Problem& problem, const Parameters&, const Machine& machine) {
    const Fold fold(problem.ranks);
    const double bytes = static_cast<double>(problem.bytes);
    const double message = machine.latency + 2 * machine.task + bytes * machine.per_byte;
    const double gather = ceil_log2(fold.core()) * (machine.latency + 2 * machine.task) +
                          bytes * (fold.core() - 1) / fold.core() * machine.per_byte;
    return (fold.pairs() > 0 ? message + bytes * machine.copy_per_byte : 0) +
           cost_of_halving(bytes, fold.core(), machine) + gather;
}

}  // namespace

const Algorithm rabenseifner = {
    .summary = "reduce-scatter by recursive halving, then gather the pieces at the root",
    .source = "Rabenseifner 2004; Thakur, Rabenseifner, Gropp 2005, section 4.4",
    .applies = applies,
    .build = build,
    .cost = cost,
    .paths = Paths::shared,
};

}  // namespace lapwing::reduce
