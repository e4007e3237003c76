// A sum of floating-point numbers that is associative and commutative: the same contributions give the same
// bits in any order, in any grouping, and with any rounding mode of the processor.
//
// The positions of a number's bits are divided into bins of 40 bits. A number becomes one integer for each
// bin. A sum keeps the three highest bins, counted from the largest contribution, and drops the bins below.
// Each bin is the plain sum of its integers, so no operation rounds. Dropping bins early or late makes no
// difference, because the highest bin is a maximum, which is associative. Bins of integers are those of
// Neal 2015, "Fast exact summation using small and large superaccumulators"; to keep the bins of the largest
// contribution alone is the binned sum of Ahrens, Nguyen, Demmel 2020, "Algorithms for efficient reproducible
// floating point summation", fold 3.
//
// The largest contribution is kept whole. The error of n contributions is below n * 2^-80 times the largest
// magnitude, plus the one rounding of the result.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <utility>

#include "task/elements.hpp"

namespace lapwing {

struct Binned {
    static constexpr int width = 40;  // bits of a bin; 2^23 contributions fit
    static constexpr int kept = 3;
    enum Flag : std::uint32_t {
        POSITIVE_INFINITY = 1,
        NEGATIVE_INFINITY = 2,
        NOT_A_NUMBER = 4,
        NO_NEGATIVE_ZERO = 8
    };

    std::int64_t bins[kept];  // from the highest down
    std::int32_t top;     // number of the highest bin; bin 0 begins at the last place of a double, 2^-1074
    std::uint32_t flags;  // of all contributions. NO_NEGATIVE_ZERO: one is not -0

    bool operator==(const Binned&) const = default;
    friend Binned operator+(Binned a, Binned b) {
        if (a.top < b.top) std::swap(a, b);
        const int below = a.top - b.top;
        for (int i = below; i < kept; ++i) a.bins[i] += b.bins[i - below];
        a.flags |= b.flags;
        return a;
    }
};

// The places of an IEEE 754 format. Positions count from 2^-1074.
template <typename Real>
struct Places;
template <>
struct Places<double> {
    using Bits = std::uint64_t;
    static constexpr int fraction = 52;
    static constexpr int lowest = 0;  // position of the last place of a subnormal number
};
template <>
struct Places<float> {
    using Bits = std::uint32_t;
    static constexpr int fraction = 23;
    static constexpr int lowest = 1074 - 149;
};
template <>
struct Places<Float16> {
    using Bits = std::uint16_t;
    static constexpr int fraction = 10;
    static constexpr int lowest = 1074 - 24;
};
template <>
struct Places<BFloat16> {
    using Bits = std::uint16_t;
    static constexpr int fraction = 7;
    static constexpr int lowest = 1074 - 133;
};

namespace binned {

__extension__ typedef unsigned __int128 Wide;

inline int bit_width(Wide number) {
    const auto high = static_cast<std::uint64_t>(number >> 64);
    return high != 0 ? 64 + static_cast<int>(std::bit_width(high))
                     : static_cast<int>(std::bit_width(static_cast<std::uint64_t>(number)));
}

// Shifts right. The last bit of the result is set if a bit that falls out is.
inline Wide shifted(Wide number, int by) {
    if (by >= 128) return number != 0 ? 1 : 0;
    return number >> by | ((number & ((Wide{1} << by) - 1)) != 0 ? 1 : 0);
}

// The bits of magnitude * 2^position in units of 2^-1074, rounded to nearest, ties to even.
template <typename Real>
typename Places<Real>::Bits rounded_bits(Wide magnitude, int position) {
    using P = Places<Real>;
    using Bits = typename P::Bits;
    constexpr Bits infinity =
        static_cast<Bits>(static_cast<Bits>(~Bits{0}) >> 1 >> P::fraction << P::fraction);
    const int last = std::max(position + bit_width(magnitude) - 1 - P::fraction, P::lowest);
    const int drop = last - position;
    // With two more bits, of which the last says whether anything follows.
    const Wide extended = drop >= 2 ? shifted(magnitude, drop - 2) : magnitude << (2 - drop);
    auto fraction = static_cast<std::uint64_t>(extended >> 2);
    const auto rest = static_cast<unsigned>(extended & 3);
    if (rest > 2 || (rest == 2 && (fraction & 1) != 0)) ++fraction;
    // The leading one adds 1 to the exponent, as does a fraction that was rounded up to the next power of
    // two.
    const std::uint64_t bits = (static_cast<std::uint64_t>(last - P::lowest) << P::fraction) + fraction;
    return bits >= infinity ? infinity : static_cast<Bits>(bits);
}

template <typename Real>
Binned of(Real number) {
    using P = Places<Real>;
    using Bits = typename P::Bits;
    const auto bits = std::bit_cast<Bits>(number);
    const bool negative = bits >> (sizeof(Bits) * 8 - 1) != 0;
    const auto magnitude = static_cast<Bits>(static_cast<Bits>(bits << 1) >> 1);
    constexpr std::uint64_t one = std::uint64_t{1} << P::fraction;
    const int exponent = static_cast<int>(magnitude >> P::fraction);
    constexpr int special = (1 << (sizeof(Bits) * 8 - 1 - P::fraction)) - 1;
    std::uint64_t fraction = magnitude & (one - 1);
    Binned sum = {};
    if (magnitude == 0) {
        sum.flags = negative ? 0U : Binned::NO_NEGATIVE_ZERO;
        return sum;
    }
    sum.flags = Binned::NO_NEGATIVE_ZERO;
    if (exponent == special) {
        sum.flags |= fraction != 0 ? Binned::NOT_A_NUMBER
                     : negative    ? Binned::NEGATIVE_INFINITY
                                   : Binned::POSITIVE_INFINITY;
        return sum;
    }
    if (exponent > 0) fraction |= one;
    const int position = P::lowest + std::max(exponent, 1) - 1;
    constexpr std::uint64_t mask = (std::uint64_t{1} << Binned::width) - 1;
    const Wide placed = Wide{fraction} << position % Binned::width;
    const int above = (bit_width(placed) - 1) / Binned::width;  // bins between the lowest and the highest
    sum.top = position / Binned::width + above;
    for (int i = 0; i <= above; ++i) {
        const auto part = static_cast<std::int64_t>(
            static_cast<std::uint64_t>(placed >> (above - i) * Binned::width) & mask);
        sum.bins[i] = negative ? -part : part;
    }
    return sum;
}

template <typename Real>
Real rounded(const Binned& sum) {
    using Bits = typename Places<Real>::Bits;
    constexpr int sign_place = sizeof(Bits) * 8 - 1;
    constexpr Bits infinity = static_cast<Bits>(static_cast<Bits>(~Bits{0}) >> 1 >>
                                                Places<Real>::fraction << Places<Real>::fraction);
    const auto with_sign = [](Bits bits, bool negative) {
        return std::bit_cast<Real>(static_cast<Bits>(bits | static_cast<Bits>(Bits{negative} << sign_place)));
    };
    constexpr std::uint32_t infinities = Binned::POSITIVE_INFINITY | Binned::NEGATIVE_INFINITY;
    if ((sum.flags & Binned::NOT_A_NUMBER) != 0 || (sum.flags & infinities) == infinities)
        return with_sign(static_cast<Bits>(infinity | Bits{1} << (Places<Real>::fraction - 1)), false);
    if ((sum.flags & infinities) != 0)
        return with_sign(infinity, (sum.flags & Binned::NEGATIVE_INFINITY) != 0);

    __extension__ typedef __int128 Signed;
    constexpr std::uint64_t mask = (std::uint64_t{1} << Binned::width) - 1;
    // The upper two bins, with what overflows the lowest; and the rest of the lowest, which is not negative.
    Signed high = (Signed{sum.bins[0]} << Binned::width) + sum.bins[1] + (sum.bins[2] >> Binned::width);
    std::uint64_t low = static_cast<std::uint64_t>(sum.bins[2]) & mask;
    if (high == 0 && low == 0) return with_sign(0, (sum.flags & Binned::NO_NEGATIVE_ZERO) == 0);
    const bool negative = high < 0;
    if (negative) {
        high = low != 0 ? -high - 1 : -high;
        low = -low & mask;
    }
    const auto upper = static_cast<Wide>(high);
    const int position = (sum.top - 2) * Binned::width;
    if (bit_width(upper) <= 128 - Binned::width)
        return with_sign(rounded_bits<Real>(upper << Binned::width | low, position), negative);
    constexpr int dropped = 17;
    const Wide wide = upper << (Binned::width - dropped) | shifted(low, dropped);
    return with_sign(rounded_bits<Real>(wide, position + dropped), negative);
}

}  // namespace binned
}  // namespace lapwing
