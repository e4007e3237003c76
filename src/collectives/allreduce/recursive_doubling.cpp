// Allreduce by recursive doubling. For short vectors.
// Thakur, Rabenseifner, Gropp 2005, "Optimization of Collective Communication Operations in MPICH",
// section 4.4.
//
// In step k each rank exchanges what it has combined with the rank 2^k away. A number of ranks that is no
// power of two is folded.
#include "collectives/reduction/fold.hpp"
#include "collectives/rows.hpp"

namespace lapwing::allreduce {
namespace {

Verdict applies(const Problem& problem, const Parameters&) {
    return within_scratch(problem.bytes, 2 * static_cast<std::uint64_t>(ceil_log2(problem.ranks)) + 4);
}

List build(const Problem& problem, int rank, const Parameters&) {
    const reduction::Fold fold(problem.ranks);
    const int partner = fold.partner(rank);
    const int me = fold.core_rank(rank);
    const int steps = ceil_log2(fold.core());
    const auto peer_in = [&](int step) { return fold.rank_of(me ^ (1 << step)); };
    const Span own = input(problem, rank, 0, problem.bytes);
    const Span result = out(0, problem.bytes);
    if (fold.sits_out(rank)) return reduction::build_sitting_out(problem, rank, partner, own, result);

    Builder list(problem, rank, 5 * static_cast<std::uint64_t>(steps) + 6);
    const Span from_partner = fold.paired(rank) ? list.scratch(problem.bytes) : Span{};
    if (fold.paired(rank)) list.recv(partner, from_partner);
    std::vector<Span> arrivals;
    for (int step = 0; step < steps; ++step) {
        const int peer = peer_in(step);
        const bool lands =
            step + 1 == steps && !problem.in_place && reduction::may_land(problem, peer < rank);
        arrivals.push_back(lands ? result : list.scratch(problem.bytes));
        list.recv(peer, arrivals.back());
    }

    Span held = own;
    if (fold.paired(rank)) {
        list.wait(partner);
        held = reduction::combine(list, problem, own, from_partner, partner < rank);
    }
    for (int step = 0; step < steps; ++step) {
        const int peer = peer_in(step);
        const Span arrival = arrivals[static_cast<std::size_t>(step)];
        list.send(peer, reduction::sendable(list, held, result));
        list.wait(peer);
        if (step + 1 == steps) {
            reduction::combine_into(list, problem, result, held, arrival, peer < rank);
        } else {
            held = reduction::combine(list, problem, held, arrival, peer < rank);
        }
    }
    if (steps == 0) list.copy(result, own);
    if (fold.paired(rank)) list.send(partner, result);
    return list.finish();
}

double cost(const Problem& problem, const Parameters&, const Machine& machine) {
    const reduction::Fold fold(problem.ranks);
    const double bytes = static_cast<double>(problem.bytes);
    const double message = machine.latency + 2 * machine.task + bytes * machine.per_byte;
    const double combination = bytes * machine.copy_per_byte;
    return ceil_log2(fold.core()) * (message + combination) +
           (fold.pairs() > 0 ? 2 * message + combination : 0);
}

}  // namespace

const Algorithm recursive_doubling = {
    .summary = "exchange partial results with the rank 1, 2, 4, ... away",
    .source = "Thakur, Rabenseifner, Gropp 2005, section 4.4",
    .applies = applies,
    .build = build,
    .cost = cost,
    .paths = Paths::doubling,
};

}  // namespace lapwing::allreduce
