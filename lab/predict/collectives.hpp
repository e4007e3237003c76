// Simulates collectives, each for itself: the cases of a study, what they need, and their results.
#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "predict/jobs.hpp"
#include "simulate/lists.hpp"

namespace lapwing::tool {

// Of one engine with so many tests and one disturbance. Seconds; shares are fractions.
struct Predicted {
    const simulate::Engine* engine = nullptr;
    int tests = 0;
    std::string noise;            // empty: none
    double base = 0;              // the collective alone, nothing disturbed
    std::optional<double> alone;  // the work
    std::optional<double> total;  // both
    std::optional<double> overlap;
    // For each seed, and for each iteration on average.
    double quiet = 0;
    std::vector<double> disturbed;
    std::vector<double> alone_disturbed;  // work without a collective: what the noise takes from that
    std::uint64_t messages = 0;
};

// The lists of one problem by one algorithm, made once and simulated for several engines.
struct Case : Job {
    Problem problem;
    std::uint64_t bytes = 0;  // as asked for
    Choice choice;
    std::vector<const simulate::Engine*> engines;
    std::vector<Predicted> rows = {};
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

// A collective with blocks of so many bytes. Throws Error (unsupported) where that would be too much.
Problem problem_on(Collective collective, int ranks, std::uint64_t bytes);

// Where the ranks stand, as far as their lists depend on it.
std::shared_ptr<const Placement> placement_of(const Study& study, int ranks);

// As named, where the collective has it and it applies; else as a run would choose.
Choice choice_of(const Study& study, const simulate::Engine& engine, const Problem& problem);

void simulate_case(const Study& study, Case& one, ProgressBar& bar);

// The results, in the JSON form of `lapwing bench` and as a table.
nlohmann::ordered_json as_json(const Study& study, const Cases& cases);
std::string as_table(const Study& study, const Cases& cases);

}  // namespace lapwing::tool
