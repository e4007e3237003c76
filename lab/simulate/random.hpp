// Counter-based random numbers: they depend only on seed, stream and number. SplitMix64 (Steele, Lea, Flood
// 2014, "Fast Splittable Pseudorandom Number Generators", figure 16).
#pragma once

#include <cstdint>

namespace lapwing::simulate {

inline constexpr std::uint64_t golden = 0x9e3779b97f4a7c15U;

inline std::uint64_t mixed(std::uint64_t value) {
    value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9U;
    value = (value ^ (value >> 27)) * 0x94d049bb133111ebU;
    return value ^ (value >> 31);
}

// Without streams.
inline std::uint64_t random_bits(std::uint64_t seed, std::uint64_t number) {
    return mixed(mixed(seed + golden) + number + golden);
}

inline std::uint64_t random_bits(std::uint64_t seed, std::uint64_t stream, std::uint64_t number) {
    return mixed(mixed(mixed(seed + golden) + stream * golden + golden) + number * golden + golden);
}

// In [0, 1).
inline double random_share(std::uint64_t seed, std::uint64_t stream, std::uint64_t number) {
    return static_cast<double>(random_bits(seed, stream, number) >> 11) * 0x1p-53;
}

}  // namespace lapwing::simulate
