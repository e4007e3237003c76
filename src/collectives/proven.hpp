// What is proven of the lists of an algorithm before any run of `lapwing verify`: for which numbers of ranks
// they are right, and which keep the fixed bracketing of reproducible reductions (task/bracketing.hpp).
#pragma once

#include <array>
#include <optional>

#include "collectives/algorithm.hpp"

namespace lapwing {

// The forms of problems that a proof for every number of ranks covers, beside the plain one.
struct ProvenForms {
    bool in_place = false;
    bool ordered = false;  // operators that do not commute
};

// Returns null if there is no proof for every number of ranks.
std::optional<ProvenForms> proven_for_all_ranks(Collective collective, std::string_view algorithm);

// The tests prove the lists of every algorithm for each number of ranks up to `enumerated_ranks`, and for
// some numbers up to `sampled_ranks`, in every form.
constexpr int enumerated_ranks = 20;
constexpr int sampled_ranks = 64;

// A saved run of `lapwing verify` (docs/results/amd-epyc/verify.txt) has proven the lists of every algorithm
// for each number of ranks up to `verified_ranks`, and for these larger numbers.
constexpr int verified_ranks = 128;
inline constexpr std::array verified_samples = {256, 257};

// Returns the largest number of ranks of the random problems that another saved run (verify-sampled.txt) has
// proven. The tests compare it with that run.
int sampled_to(Collective collective, std::string_view algorithm);

// Returns whether the lists for the problem keep the bracketing; the problem must be in rank order, and the
// algorithm must apply to it. Lists of a file are proven the first time.
Verdict keeps_bracketing(const Problem& problem, const Choice& choice);

}  // namespace lapwing
