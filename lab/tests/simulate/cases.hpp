// What tests simulate.
#pragma once

#include "collectives/catalogue.hpp"
#include "simulate/simulation.hpp"

namespace lapwing::simulate {

inline const Engine& engine(std::string_view name) {
    for (const Engine& one : engines())
        if (one.name == name) return one;
    return engines().front();
}

inline Problem problem_for(Collective collective, int ranks, std::uint64_t bytes = 8) {
    Problem problem{.collective = collective, .ranks = ranks};
    if (collective != Collective::barrier) problem.bytes = bytes;
    if (is_reduction(collective)) problem.type = Type::float64;
    return problem;
}

inline Lists lists_for(Collective collective, const char* algorithm, int ranks, std::uint64_t bytes = 8) {
    return make_lists(problem_for(collective, ranks, bytes), parse_choice(collective, algorithm));
}

// Nanoseconds, as in the tests' sums.
inline Parameters parameters(Time latency, Time overhead, double per_byte = 0, Time gap = 0) {
    Parameters parameters;
    parameters.latency = latency * nanosecond;
    parameters.overhead = overhead * nanosecond;
    parameters.per_byte = per_byte * nanosecond;
    parameters.gap = gap * nanosecond;
    return parameters;
}

inline std::vector<Time> ends_in_nanoseconds(const Lists& lists, const Setting& setting) {
    std::vector<Time> ends = simulate(lists, setting).ends;
    for (Time& end : ends) end /= nanosecond;
    return ends;
}

}  // namespace lapwing::simulate
