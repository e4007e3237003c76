// The definition of each collective: the contents of out when it is done. The checker proves lists against
// it, and tests compute expected bytes from it.
#pragma once

#include <cstdint>
#include <vector>

#include "task/problem.hpp"

namespace lapwing {

// The final contents of a span of a rank's out.
struct Result {
    Span out;
    // The input of rank `first`, or the reduction of the inputs of ranks `first` to `last`, in this order if
    // the problem is ordered.
    int first = 0;
    int last = 0;
    std::uint64_t offset = 0;  // bytes, in the input

    bool operator==(const Result&) const = default;
};

// Returns the contents that out of `rank` must have. Spans do not overlap and are not empty. The problem must
// be valid and have the parts of all ranks.
std::vector<Result> results(const Problem& problem, int rank);

}  // namespace lapwing
