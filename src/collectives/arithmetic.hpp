// Small integer functions that the algorithms share.
#pragma once

#include <bit>
#include <cstdint>

namespace lapwing {

// Largest power of two that is at most `n` (n >= 1).
inline int floor_power_of_two(int n) {
    return static_cast<int>(std::bit_floor(static_cast<unsigned>(n)));
}

// Smallest k with 2^k >= n (n >= 1).
inline int ceil_log2(int n) {
    return static_cast<int>(std::bit_width(static_cast<unsigned>(n - 1)));
}

// The bit of `n` that is set lowest (n >= 1).
inline int lowest_bit(int n) {
    return n & -n;
}

// Rank numbers as seen from the root, which is 0, and back.
inline int relative_rank(int rank, int root, int ranks) {
    return rank >= root ? rank - root : rank - root + ranks;
}
inline int absolute_rank(int relative, int root, int ranks) {
    const std::int64_t sum = std::int64_t{relative} + root;
    return static_cast<int>(sum >= ranks ? sum - ranks : sum);
}

}  // namespace lapwing
