// The simulations of collectives.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lapwing/predict/cases.hpp"
#include "lapwing/predict/jobs.hpp"

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

struct PredictedCase {
    Case of;
    std::vector<Predicted> rows = {};
    std::string left_out = {};  // why there are no rows
};

// One for each case; `cases` must stay where they are until all have run.
std::vector<Job> jobs_of(const Study& study, std::vector<PredictedCase>& cases);

}  // namespace lapwing::tool
