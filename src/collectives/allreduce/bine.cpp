// Allreduce by a Bine butterfly: recursive doubling (`bine`, for short vectors) and Rabenseifner's algorithm
// (`bine_halving`, for long ones), with peers that are nearer to each other. De Sensi et al. 2025, "Bine
// Trees: Enhancing Collective Operations by Optimizing Communication Locality".
//
// The halving begins with the nearest rank, which gets most of the bytes. The pieces of the vector are dealt
// by the places of the butterfly, so what is exchanged is always one span. What two peers have combined
// before they exchange is of interleaved ranks, so the operator must commute.
#include "collectives/bine.hpp"

#include "collectives/allreduce/butterfly.hpp"
#include "collectives/rows.hpp"

namespace lapwing::allreduce {
namespace {

Verdict keeps_order(const Problem& problem) {
    if (!problem.ordered) return Verdict::yes();
    return Verdict::no("the operator does not commute, and a Bine butterfly does not combine in rank order");
}

}  // namespace

const Algorithm bine = {
    .summary = "exchange partial results with the rank 1, 1, 3, 5, 11, ... away",
    .source = "De Sensi et al. 2025",
    .applies =
        [](const Problem& problem, const Parameters&) {
            const Verdict fits = fits_doubling(problem);
            return fits ? keeps_order(problem) : fits;
        },
    .build = [](const Problem& problem, int rank,
                const Parameters&) { return build_doubling(problem, rank, bine::peer); },
    .cost = [](const Problem& problem, const Parameters&,
               const Machine& machine) { return cost_of_doubling(problem, machine); },
};

const Algorithm bine_halving = {
    .summary = "as rabenseifner, with the rank 1, 1, 3, 5, 11, ... away",
    .source = "De Sensi et al. 2025",
    .applies =
        [](const Problem& problem, const Parameters&) {
            const Verdict fits = fits_halving(problem);
            return fits ? keeps_order(problem) : fits;
        },
    .build = [](const Problem& problem, int rank,
                const Parameters&) { return build_halving(problem, rank, reduction::Halving::Order::bine); },
    .cost = [](const Problem& problem, const Parameters&,
               const Machine& machine) { return cost_of_halving(problem, machine); },
};

}  // namespace lapwing::allreduce
