// Problems that a rank may know in another form than its peers: a rank may be in place where others are not.
#pragma once

#include "collectives/catalogue.hpp"
#include "task/sample.hpp"

namespace lapwing::in_place_forms {

inline Problem in_place(Problem problem, bool is) {
    problem.in_place = is;
    return problem;
}

// Gives `body` such problems, in the form that is not in place, with an algorithm each.
template <typename Body>
void for_each_problem(const Body& body) {
    for (const Algorithm* const algorithm : catalogue()) {
        const Collective collective = algorithm->collective;
        if (!in_place_by_itself(collective) || has_parts(collective) || algorithm->knows_hosts) continue;
        const Choice choice{algorithm, default_parameters(*algorithm)};
        for (const int ranks : {2, 3, 4, 6, 8}) {
            for (const Problem& problem : sample_problems(collective, ranks, 40))
                if (!problem.in_place && algorithm->applies(problem, choice.parameters))
                    body(problem, choice);
        }
    }
}

}  // namespace lapwing::in_place_forms
