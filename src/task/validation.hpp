// Validation of problems.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/error.hpp"
#include "task/problem.hpp"

namespace lapwing {

// Throws Error (invalid_argument) with the reason if the problem is invalid: no ranks, a root out of range,
// sizes beyond 2^62 bytes, a reduction of partial elements, missing parts, or parts of all ranks that do not
// match.
void validate(const Problem& problem);

class PartsError : public Error {
  public:
    PartsError(int rank, const std::string& why) : Error(ErrorCode::invalid_argument, why), rank_(rank) {}
    int rank() const noexcept { return rank_; }  // the rank with the wrong parts

  private:
    int rank_;
};

// Throws Error (invalid_argument) unless there are parts of one rank or of all ranks. Throws PartsError for
// peers that are out of range or out of order, receives that overlap, sizes beyond 2^62 bytes, and parts that
// do not match. Does not check the parts of one rank alone, because the rank is unknown.
void validate_parts(const Problem& problem);
// Checks the parts of `rank` alone, in the same way as far as possible.
void validate_parts(const Problem& problem, int rank);

struct OwnBlock {
    std::uint64_t sent;
    std::uint64_t received;
};
// Returns the lengths of the first block between `rank` and itself that it sends and receives with different
// lengths. A missing block counts as an empty one. Returns nothing if there is none, or if the rank is in
// place.
std::optional<OwnBlock> differing_own_block(const Parts& parts, int rank);

}  // namespace lapwing
