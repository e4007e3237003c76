// What a collective is: what stands where when it is done. The checker proves lists against this, and the
// tests of engines and of the drop-in compute expected bytes from it.
#pragma once

#include <cstdint>
#include <vector>

#include "task/problem.hpp"

namespace lapwing {

// A span of a rank's out, at the end.
struct Result {
    Span out;
    // Whose input stands there: of one rank, as it was; of several, reduced, in this order when the problem
    // is ordered.
    int first = 0;
    int last = 0;              // the last of them
    std::uint64_t offset = 0;  // in their input, in bytes

    bool operator==(const Result&) const = default;
};

// All that `rank` must have in out; spans do not overlap, empty ones are left out. The problem is valid and
// has the parts of all ranks.
std::vector<Result> results(const Problem& problem, int rank);

}  // namespace lapwing
