// Reduce-scatter by recursive halving. For short vectors.
// Thakur, Rabenseifner, Gropp 2005, "Optimization of Collective Communication Operations in MPICH",
// section 4.3.
//
// The halving begins with the farthest rank, so that each rank ends with its own block. A number of ranks
// that is no power of two is folded: the rank that stays ends with the blocks of both, and sends one on.
#include "collectives/reduction/halving.hpp"
#include "collectives/vector_blocks.hpp"

namespace lapwing::reduce_scatter {
namespace {

Verdict applies(const Problem& problem, const Parameters&) {
    const Verdict fits = within_scratch(VectorBlocks(problem).total(), 3);
    if (!fits || !problem.ordered) return fits;
    return Verdict::no("the operator does not commute, and ranks that are no neighbours combine first");
}

List build(const Problem& problem, int rank, const Parameters&) {
    const VectorBlocks blocks(problem);
    const reduction::Fold fold(problem.ranks);
    const bool paired = fold.paired(rank) && blocks.total() > 0;
    const int partner = fold.partner(rank);
    const Span own = input(problem, rank, 0, blocks.total());
    const Span result = out(0, blocks.bytes(rank));
    if (fold.sits_out(rank)) {
        Builder list(problem, rank, 5);
        const Span arrival = problem.in_place ? list.scratch(result.length) : result;
        if (result.length > 0) list.recv(partner, arrival);
        if (own.length > 0) list.send(partner, reduction::sendable(list, own, result));
        if (result.length > 0) list.wait(partner);
        list.copy(result, arrival);
        return list.finish();
    }

    reduction::Halving halving(problem, fold, rank, reduction::Halving::Order::farthest_first,
                               [&](int piece) { return blocks.begin(fold.first_rank_of(piece)); });
    Builder list(problem, rank, 4 * halving.steps().size() + 7);
    const Span from_partner = paired ? list.scratch(own.length) : Span{};
    if (paired) list.recv(partner, from_partner);
    halving.offer(list, problem.in_place || paired ? Span{} : result);

    Span held = own;
    if (paired) {
        list.wait(partner);
        held = reduction::combine(list, problem, own, from_partner, partner < rank);
    }
    held = halving.run(list, held, result);
    const auto block = [&](int r) {
        return held.part(blocks.begin(r) - halving.last().begin, blocks.bytes(r));
    };
    if (paired && blocks.bytes(partner) > 0) list.send(partner, block(partner));
    list.copy(result, block(rank));
    return list.finish();
}

double cost(const Problem& problem, const Parameters&, const Machine& machine) {
    const VectorBlocks blocks(problem);
    const reduction::Fold fold(problem.ranks);
    double seconds = 0;
    const auto add = [&](std::uint64_t bytes, double each) {
        seconds += machine.latency + 2 * machine.task + static_cast<double>(bytes) * each;
    };
    const double combined = machine.per_byte + machine.copy_per_byte;
    // With blocks of one length the first half is the longest, because pairs of ranks come first.
    const int examined = problem.parts.empty() ? 1 : fold.core();
    if (fold.pairs() > 0) add(blocks.total(), combined);
    for (int pieces = fold.core() / 2; pieces > 0; pieces /= 2) {
        std::uint64_t longest = 0;  // of the halves that are sent
        for (int first = 0; first < examined; first += pieces) {
            longest = std::max(longest, blocks.begin(fold.first_rank_of(first + pieces)) -
                                            blocks.begin(fold.first_rank_of(first)));
        }
        add(longest, combined);
    }
    if (fold.pairs() > 0) add(blocks.largest(), machine.per_byte);
    return seconds;
}

}  // namespace

const Algorithm recursive_halving = {
    .summary = "exchange the half that the peer keeps with the rank ..., 4, 2, 1 away",
    .source = "Thakur, Rabenseifner, Gropp 2005, section 4.3",
    .applies = applies,
    .build = build,
    .cost = cost,
};

}  // namespace lapwing::reduce_scatter
