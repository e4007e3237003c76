// Compares two ways by measured times: how often one way beats the other does not depend on how late a few
// late samples are, as means do.
#pragma once

#include <cstddef>
#include <span>

namespace lapwing {

// Returns in how many of all pairs of one of `times` and one of `others` the first is less than `factor`
// times the second.
inline std::size_t pairs_below(std::span<const double> times, std::span<const double> others, double factor) {
    std::size_t pairs = 0;
    for (const double time : times) {
        for (const double other : others) pairs += time < factor * other ? 1 : 0;
    }
    return pairs;
}

}  // namespace lapwing
