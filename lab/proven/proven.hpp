// The numbers of ranks for which the lists of an algorithm are proven, before any run of `lapwing verify`.
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

// tests/collectives/proofs_test.cpp proves the lists of every algorithm for each number of ranks up to
// `enumerated_ranks`, and for some numbers up to `sampled_ranks`, in every form.
constexpr int enumerated_ranks = 20;
constexpr int sampled_ranks = 64;

// A saved run of `lapwing verify` (lab/docs/results/amd-epyc/verify.txt) has proven the lists of every
// algorithm for each number of ranks up to `verified_ranks`, and for these larger numbers.
constexpr int verified_ranks = 128;
inline constexpr std::array verified_samples = {256, 257};

}  // namespace lapwing
