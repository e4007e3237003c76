// Problems of every form, each with every algorithm that does not decline it, and values of its parameters.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "collectives/catalogue.hpp"
#include "task/sample.hpp"

namespace lapwing {

// The usual values, and of few ranks each parameter in turn at others.
inline std::vector<Parameters> variations(const Algorithm& algorithm, int ranks) {
    std::vector<Parameters> all = {default_parameters(algorithm)};
    for (std::size_t i = 0; i < algorithm.parameters.size() && ranks <= 20; ++i) {
        const Parameter& parameter = algorithm.parameters[i];
        for (const std::int64_t value :
             {parameter.min, std::min(parameter.default_value + 2, parameter.max), parameter.max}) {
            Parameters one = all.front();
            one[i] = value;
            all.push_back(one);
        }
    }
    return all;
}

// Calls visit(problem, choice) for the algorithms that do not decline. If the problem has a placement, for
// those that know hosts, and for rings, which follow its order.
template <typename Visit>
void for_each_choice(const Problem& problem, Visit visit) {
    for (const Algorithm* algorithm : algorithms_of(problem.collective)) {
        const bool by_placement = algorithm->knows_hosts || algorithm->paths == Paths::ring;
        if (problem.placement != nullptr ? !by_placement : algorithm->knows_hosts) continue;
        for (const Parameters& parameters : variations(*algorithm, problem.ranks)) {
            if (algorithm->applies(problem, parameters)) visit(problem, Choice{algorithm, parameters});
            if (testing::Test::HasFatalFailure()) return;
        }
    }
}

// The same for all forms of all collectives, with blocks of about so many bytes.
template <typename Visit>
void for_each_problem(int ranks, std::uint64_t bytes, Visit visit) {
    for (const Collective collective : all_collectives()) {
        for (const auto sample : {sample_problems, sample_problems_on_hosts}) {
            for (const Problem& problem : sample(collective, ranks, bytes)) {
                for_each_choice(problem, visit);
                if (testing::Test::HasFatalFailure()) return;
            }
        }
    }
}

}  // namespace lapwing
