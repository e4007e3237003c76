// Whether a problem makes sense.
#pragma once

#include <string>

#include "base/error.hpp"
#include "task/problem.hpp"

namespace lapwing {

// Throws Error (invalid_argument) with the reason when the problem makes no sense: no ranks, a root that
// is none of them, sizes beyond 2^62 bytes, a reduction whose bytes are not whole elements, parts that are
// missing or (with the parts of all ranks) do not meet.
void validate(const Problem& problem);

class PartsError : public Error {
  public:
    PartsError(int rank, const std::string& why) : Error(ErrorCode::invalid_argument, why), rank_(rank) {}
    int rank() const noexcept { return rank_; }  // whose parts are wrong

  private:
    int rank_;
};

// Throws Error (invalid_argument) when there are parts of some ranks only. Throws PartsError: peers that are
// no ranks, or not in their order; receives that overlap; sizes beyond 2^62 bytes; parts that do not meet.
// Parts of one rank alone are not looked at, since it is not said whose they are.
void validate_parts(const Problem& problem);
// The same for the parts of `rank` alone, as far as they can be wrong by themselves.
void validate_parts(const Problem& problem, int rank);

}  // namespace lapwing
