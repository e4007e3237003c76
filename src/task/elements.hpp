// The C++ types of the elements in task/types.def that the language lacks: 16-bit floating-point numbers, and
// pairs of a value and an index.
#pragma once

#include <bit>
#include <complex>
#include <cstdint>
#include <type_traits>

namespace lapwing {

// Which operators apply to a type; as bits.
enum ElementGroup : unsigned { INTEGERS = 1, REALS = 2, COMPLEX_NUMBERS = 4, PAIRS = 8, OPAQUE = 16 };

// IEEE 754 binary16. Computes in float and rounds each result to nearest, ties to even, which gives the same
// bits as arithmetic in binary16. The compiler's _Float16 needs functions of a run-time library that systems
// lack.
class Float16 {
  public:
    Float16() = default;
    explicit Float16(float number) {
        const auto word = std::bit_cast<std::uint32_t>(number);
        const std::uint32_t magnitude = word & 0x7fffffffU;
        // A subnormal number: adding 0.5 leaves the bits in the lowest places of the sum, rounded.
        const std::uint32_t small =
            std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) + 0.5F) - 0x3f000000U;
        const std::uint32_t normal = (magnitude - 0x38000000U + 0xfffU + (magnitude >> 13 & 1U)) >> 13;
        const std::uint32_t large = magnitude > 0x7f800000U ? 0x7e00U | (magnitude >> 13 & 0x3ffU) : 0x7c00U;
        const std::uint32_t finite = magnitude < 0x38800000U ? small : normal;
        const std::uint32_t rounded = magnitude < 0x477ff000U ? finite : large;  // infinity from 65520 on
        bits_ = static_cast<std::uint16_t>((word >> 16 & 0x8000U) | rounded);
    }
    operator float() const {
        const std::uint32_t sign = std::uint32_t{bits_} << 16 & 0x80000000U;
        const std::uint32_t magnitude = std::uint32_t{bits_} << 13 & 0x0fffe000U;
        // With the bias of a float's exponent. A subnormal number: without the first bit, which is one in a
        // float.
        const std::uint32_t normal = magnitude + 0x38000000U;
        const std::uint32_t small =
            std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude + 0x38800000U) - 0x1p-14F);
        const std::uint32_t finite = magnitude < 0x00800000U ? small : normal;
        return std::bit_cast<float>((magnitude < 0x0f800000U ? finite : magnitude | 0x7f800000U) | sign);
    }

  private:
    std::uint16_t bits_;
};

// The upper half of a float, rounded as Float16.
class BFloat16 {
  public:
    BFloat16() = default;
    explicit BFloat16(float number) {
        const auto word = std::bit_cast<std::uint32_t>(number);
        const bool is_nan = (word & 0x7fffffffU) > 0x7f800000U;
        bits_ = static_cast<std::uint16_t>((is_nan ? word | 0x400000U : word + 0x7fffU + (word >> 16 & 1U)) >>
                                           16);
    }
    operator float() const { return std::bit_cast<float>(std::uint32_t{bits_} << 16); }

  private:
    std::uint16_t bits_;
};

template <typename Element>
constexpr bool is_half = std::is_same_v<Element, Float16> || std::is_same_v<Element, BFloat16>;

// Packed: MPI's pair types travel without the padding that they have in memory.
template <typename Value, typename Index>
struct [[gnu::packed]] Pair {
    Value value;
    Index index;
};
using Int16Pair = Pair<std::int16_t, std::int32_t>;
using Int32Pair = Pair<std::int32_t, std::int32_t>;
using Int64Pair = Pair<std::int64_t, std::int32_t>;
using Float32Pair = Pair<float, std::int32_t>;
using Float64Pair = Pair<double, std::int32_t>;
using LongDoublePair = Pair<long double, std::int32_t>;
using Float32Float32 = Pair<float, float>;
using Float64Float64 = Pair<double, double>;

// MPI_MINLOC and MPI_MAXLOC of a source and a target: of equal values the lower index, with the target's
// value, which may be the other zero. Values that do not compare leave the target.
template <typename Value, typename Index>
Pair<Value, Index> minimum_location(Pair<Value, Index> source, Pair<Value, Index> target) {
    if (source.value < target.value) return source;
    if (source.value == target.value && source.index < target.index) target.index = source.index;
    return target;
}
template <typename Value, typename Index>
Pair<Value, Index> maximum_location(Pair<Value, Index> source, Pair<Value, Index> target) {
    if (source.value > target.value) return source;
    if (source.value == target.value && source.index < target.index) target.index = source.index;
    return target;
}

}  // namespace lapwing
