#include "collectives/bine.hpp"

#include <cstdint>

#include "collectives/arithmetic.hpp"

namespace lapwing::bine {
namespace {

// The lowest `digits` digits of `n` with base -2.
std::uint32_t negabinary(std::int64_t n, int digits) {
    constexpr std::uint32_t odd_digits = 0xAAAAAAAA;
    const std::uint32_t all = (static_cast<std::uint32_t>(n) + odd_digits) ^ odd_digits;
    return all & ((std::uint32_t{1} << static_cast<unsigned>(digits)) - 1);
}

// The lowest `count` bits, the other way round. Without a loop: lists are built of as many places as ranks.
int reversed(std::uint32_t bits, int count) {
    const auto swap = [&](unsigned width, std::uint32_t mask) {
        bits = (bits >> width & mask) | (bits & mask) << width;
    };
    swap(1, 0x55555555);
    swap(2, 0x33333333);
    swap(4, 0x0F0F0F0F);
    swap(8, 0x00FF00FF);
    swap(16, 0x0000FFFF);
    return static_cast<int>(std::uint64_t{bits} >> static_cast<unsigned>(32 - count));
}

}  // namespace

int peer(int rank, int step, int ranks) {
    const std::int64_t power = std::int64_t{1} << (step + 1);  // without its sign
    const std::int64_t distance = (step % 2 == 0 ? 1 + power : 1 - power) / 3;
    const std::int64_t sum = rank + (rank % 2 == 0 ? distance : -distance);
    return static_cast<int>((sum + ranks) % ranks);
}

int place(int rank, int ranks) {
    const int digits = ceil_log2(ranks);
    const std::uint32_t number = negabinary(rank % 2 == 0 ? -std::int64_t{rank} : rank, digits);
    // From a rank r to its peer, the number h becomes distance - h: the lowest step + 1 digits of h flip, and
    // of the others the lowest stays. So of neighbouring digits' exclusive ors, one changes, and none below
    // it.
    return reversed(number ^ number >> 1U, digits);
}

Verdict applies_to(int ranks) {
    if (floor_power_of_two(ranks) == ranks) return Verdict::yes();
    return Verdict::no("the number of ranks is not a power of two");
}

}  // namespace lapwing::bine
