#include "collectives/reduce_scatter/halving.hpp"

#include "collectives/arithmetic.hpp"
#include "collectives/bine.hpp"

namespace lapwing::reduce_scatter {

using reduction::Fold;
using reduction::Halving;
using reduction::Region;

namespace {

// The piece with which a core rank ends: each step's bit chooses a half, the first step's of the whole.
int place_of(int core_rank, int core, Halving::Order order) {
    if (order == Halving::Order::bine) return bine::place(core_rank, core);
    int place = 0;
    for (int bit = 1; bit < core; bit *= 2) place = 2 * place + ((core_rank & bit) != 0 ? 1 : 0);
    return place;
}

}  // namespace

Pieces::Pieces(const VectorBlocks& blocks, const Fold& fold, Halving::Order order)
    : blocks_(blocks), fold_(fold) {
    if (order == Halving::Order::farthest_first) return;
    core_rank_of_.resize(static_cast<std::size_t>(fold.core()));
    for (int core = 0; core < fold.core(); ++core) {
        core_rank_of_[static_cast<std::size_t>(place_of(core, fold.core(), order))] = core;
    }
    begins_ = {0};
    for (const int core : core_rank_of_) begins_.push_back(begins_.back() + region_of(core).bytes);
}

std::uint64_t Pieces::begin(int piece) const {
    if (in_rank_order()) return blocks_.begin(fold_.first_rank_of(piece));
    return begins_[static_cast<std::size_t>(piece)];
}

int Pieces::core_rank_of(int piece) const {
    return in_rank_order() ? piece : core_rank_of_[static_cast<std::size_t>(piece)];
}

Region Pieces::region_of(int core_rank) const {
    const std::uint64_t begin = blocks_.begin(fold_.first_rank_of(core_rank));
    return {begin, blocks_.begin(fold_.first_rank_of(core_rank + 1)) - begin};
}

List build_halving(const Problem& problem, int rank, Halving::Order order) {
    const VectorBlocks blocks(problem);
    const Fold fold(problem.ranks);
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

    const Pieces pieces(blocks, fold, order);
    Halving halving(problem, fold, rank, order, [&](int piece) { return pieces.begin(piece); });
    const int copies = pieces.in_rank_order() || fold.core() == 1 ? 0 : fold.core();
    Builder list(problem, rank, 4 * halving.steps().size() + static_cast<std::size_t>(copies) + 7);
    const Span from_partner = paired ? list.scratch(own.length) : Span{};
    if (paired) list.recv(partner, from_partner);
    halving.offer(list, problem.in_place || paired ? Span{} : result);

    Span held = own;
    if (paired) {
        list.wait(partner);
        held = reduction::combine(list, problem, own, from_partner, partner < rank);
    }
    if (copies > 0) {
        const Span vector = held;
        held = list.scratch(vector.length);
        for (int piece = 0; piece < copies; ++piece) {
            const Region region = pieces.region_of(pieces.core_rank_of(piece));
            list.copy(held.part(pieces.begin(piece), region.bytes), vector.part(region.begin, region.bytes));
        }
    }
    held = halving.run(list, held, result);
    const std::uint64_t first = pieces.region_of(fold.core_rank(rank)).begin;
    const auto block = [&](int r) { return held.part(blocks.begin(r) - first, blocks.bytes(r)); };
    if (paired && blocks.bytes(partner) > 0) list.send(partner, block(partner));
    list.copy(result, block(rank));
    return list.finish();
}

Verdict fits_halving(const Problem& problem, std::uint64_t vectors) {
    return within_scratch(VectorBlocks(problem).total(), vectors);
}

}  // namespace lapwing::reduce_scatter
