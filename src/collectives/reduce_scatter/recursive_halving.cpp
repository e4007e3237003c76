// Reduce-scatter by recursive halving. For short vectors. Thakur, Rabenseifner, Gropp 2005, "Optimization of
// Collective Communication Operations in MPICH", section 4.3.
//
// The halving begins with the farthest rank, so that each rank ends with its own block.
#include <algorithm>
#include <cstdint>

#include "collectives/reduction/halving.hpp"
#include "collectives/rows.hpp"
#include "collectives/vector_blocks.hpp"

namespace lapwing::reduce_scatter {
namespace {

using reduction::Fold;
using reduction::Halving;

// A number of ranks that is no power of two is folded: the rank that stays ends with the blocks of both, and
// sends one on.
List build(const Problem& problem, int rank, const Parameters&) {
    const VectorBlocks blocks(problem);
    const Fold fold(problem.ranks);
    const bool paired = fold.paired(rank) && blocks.total() > 0;
    const int partner = fold.partner(rank);
    const Span own = input(problem, rank, 0, blocks.total());
    const Span result = out(0, blocks.bytes(rank));
    if (fold.sits_out(rank)) return reduction::build_sitting_out(problem, rank, partner, own, result);

    const auto begin = [&](int core_rank) { return blocks.begin(fold.first_rank_of(core_rank)); };
    Halving halving(problem, fold, rank, Halving::Order::farthest_first, begin);
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
    const std::uint64_t first = begin(fold.core_rank(rank));
    const auto block = [&](int r) { return held.part(blocks.begin(r) - first, blocks.bytes(r)); };
    if (paired && blocks.bytes(partner) > 0) list.send(partner, block(partner));
    list.copy(result, block(rank));
    return list.finish();
}

Verdict applies(const Problem& problem, const Parameters&) {
    if (problem.ordered)
        return Verdict::no("the operator does not commute, and ranks that are no neighbours combine first");
    return within_scratch(VectorBlocks(problem).total(), 3);
}

double cost(const Problem& problem, const Parameters&, const Machine& machine) {
    const VectorBlocks blocks(problem);
    const Fold fold(problem.ranks);
    double seconds = 0;
    const auto add = [&](std::uint64_t bytes, double each) {
        seconds += machine.latency + 2 * machine.task + static_cast<double>(bytes) * each;
    };
    const double combined = machine.per_byte + machine.copy_per_byte;
    if (fold.pairs() > 0) add(blocks.total(), combined);
    // With blocks of one length the first half is the longest, because pairs of ranks come first.
    const int examined = problem.parts.empty() ? 1 : fold.core();
    for (int pieces = fold.core() / 2; pieces > 0; pieces /= 2) {
        std::uint64_t longest = 0;
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
