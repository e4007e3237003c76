// The constants of the cost model from measured times, and how well a choice by cost would have done.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "plan/selection.hpp"
#include "plan/tuning.hpp"

namespace lapwing {

// One collective at one size, and how long each algorithm took.
struct Measured {
    Collective collective = Collective::barrier;
    int ranks = 0;
    std::uint64_t bytes = 0;  // as asked for
    Problem problem;
    std::vector<std::pair<Choice, double>> seconds;  // in the order of the catalogue; not empty

    double best() const;
    const double* of(const Choice& choice) const;  // null when it was not measured
};

// The costs with the least loss(costs) that are found from `costs` on: one of the named costs after the
// other, up and down by factors from e^first_step to e^last_step, each time limit(costs, name). There are
// few, and the loss has corners.
template <typename Costs, std::size_t count, typename Limit, typename Loss>
Costs descend(Costs costs, const NamedCost<Costs> (&named)[count], double first_step, double last_step,
              Limit limit, Loss loss) {
    double least = loss(costs);
    for (double step = first_step; step > last_step; step /= 2) {
        for (bool better = true; better;) {
            better = false;
            for (const NamedCost<Costs>& name : named) {
                for (const double direction : {step, -step}) {
                    Costs other = costs;
                    other.*name.cost *= std::exp(direction);
                    limit(other, name);
                    const double found = loss(other);
                    if (found >= least * (1 - 1e-6)) continue;
                    least = found;
                    costs = other;
                    better = true;
                }
            }
        }
    }
    return costs;
}

// The constants, starting from `start`, for which the modelled times are nearest to the measured ones, as
// ratios; one that the measurements do not depend on stays as it is.
Machine fit(const std::vector<Measured>& measured, const Machine& start);

// Costs above these come from a machine that other programs kept busy.
template <typename Costs>
double max_fitted(const NamedCost<Costs>& cost) {
    return cost.per_byte() ? 1e-6 : 1;
}

// Reduces constants above these limits. Returns whether a constant exceeded its limit.
bool limit(Machine& machine);

// Of the cases the share in which the choice takes at most `slack` times what the fastest takes, and the
// geometric mean over all cases of how many times as long it takes.
struct Quality {
    std::size_t cases = 0;
    std::size_t good = 0;
    double mean_ratio = 1;
};
inline constexpr double slack = 1.1;
Quality quality_of_model(const std::vector<Measured>& measured, const Machine& machine);
Quality quality_of_selection(const std::vector<Measured>& measured, const Guidance& guidance);

}  // namespace lapwing
