// The constants of the cost model from measured times, and how well a choice by cost would have done.
#pragma once

#include <cstddef>
#include <cstdint>
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

// The constants, starting from `start`, for which the modelled times are nearest to the measured ones, as
// ratios; one that the measurements do not depend on stays as it is.
Machine fit(const std::vector<Measured>& measured, const Machine& start);

// Reduces constants that only a machine kept busy by other programs has. Returns whether there were any.
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
