// Which algorithm a run would choose for a problem, and why.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "plan/selection.hpp"

namespace lapwing {
class CommandLine;
}

namespace lapwing::tool {

struct ChoiceOptions {
    std::string algorithm;
    std::string engine;
};

struct Chosen {
    Choice choice;
    // What follows is left out when the algorithm was named on the command line.
    std::string by;                     // variable, tuning, defaults, cost
    std::string why;                    // "requested by LAPWING_ALGORITHM"
    Surroundings surroundings;          // for which it was chosen
    double seconds = 0;                 // modelled
    std::vector<Candidate> candidates;  // by the cost model

    // "kernel, between hosts"
    std::string place() const;
    // "ring (requested by LAPWING_ALGORITHM; modelled 1.2 ms; next rabenseifner 1.4 ms)"
    std::string sentence() const;
};

void add_choice_options(CommandLine& app, ChoiceOptions& options);
// From the options and the variables LAPWING_*. Throws Error for a wrong value, an unreadable tuning file, or
// an algorithm that declines.
Chosen choose(const ChoiceOptions& options, const Problem& problem, bool several_hosts);

}  // namespace lapwing::tool
