// The simulations that a study stands for, and what they need.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "lapwing/predict/study.hpp"
#include "simulate/lists.hpp"

namespace lapwing::tool {

// The lists of one problem by one algorithm, made once and simulated for several engines.
struct Case {
    Problem problem;
    std::uint64_t bytes = 0;  // as asked for
    Choice choice;
    std::vector<const simulate::Engine*> engines;
    simulate::Needs needs;
    std::uint64_t messages = 0;  // of all its simulations, about
    std::uint64_t memory = 0;    // about
};

struct Declined {
    Problem problem;
    Choice choice;
    std::string why;
};

struct Cases {
    std::vector<Case> cases;  // by collective, bytes and ranks
    std::vector<Declined> declined;
    std::vector<std::string> too_large;  // of all algorithms; each with its reason
};

// Throws Error (invalid_argument) for an algorithm that none of the collectives has; (unsupported) when
// nothing is left, or one case needs more memory than it may have.
Cases cases_of(const Study& study);

// "alltoall, 4 KiB, 1024 ranks, pairwise:window=6"
std::string what(const Case& one);

// A collective with blocks of so many bytes. Throws Error (unsupported) where that would be too much.
Problem problem_on(Collective collective, int ranks, std::uint64_t bytes);

// Where the ranks stand, as far as their lists depend on it.
std::shared_ptr<const Placement> placement_of(const Study& study, int ranks);

// The algorithms of a collective that the study names; empty: as a run would choose.
std::vector<Choice> named_choices(const Study& study, Collective collective);

// As named, where the collective has it and it applies; else as a run would choose.
Choice choice_of(const Study& study, const simulate::Engine& engine, const Problem& problem);

}  // namespace lapwing::tool
