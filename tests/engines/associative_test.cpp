// Reductions in an associative form: the bits do not depend on order and grouping, and they are those of the
// exact sum.
#include "task/associative.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "engines/local_work.hpp"
#include "task/binned.hpp"

namespace lapwing {
namespace {

__extension__ typedef __float128 Exact;

template <typename Real>
constexpr Type type_of = std::is_same_v<Real, double>    ? Type::float64
                         : std::is_same_v<Real, float>   ? Type::float32
                         : std::is_same_v<Real, Float16> ? Type::float16
                                                         : Type::bfloat16;

// Reduces in the form, as an engine does: neighbours in pairs that `random` picks.
template <typename Real>
Real reduced(const std::vector<Real>& numbers, Operator op, std::mt19937_64& random) {
    const auto form = AssociativeForm::of(op, type_of<Real>).value();
    std::vector<std::vector<std::byte>> parts;
    for (const Real number : numbers) {
        std::vector<std::byte> part(form.bytes(sizeof number));
        std::byte* const at_end = part.data() + part.size() - sizeof number;
        std::memcpy(at_end, &number, sizeof number);
        form.encode(part.data(), at_end, sizeof number);
        parts.push_back(part);
    }
    while (parts.size() > 1) {
        const std::size_t i = random() % (parts.size() - 1);
        reduce(op, form.type(), parts[i].data(), parts[i + 1].data(), parts[i].size());
        parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(i) + 1);
    }
    form.decode(parts[0].data(), sizeof(Real));
    Real result;
    std::memcpy(&result, parts[0].data(), sizeof result);
    return result;
}

template <typename Real>
auto bits(Real number) {
    return std::bit_cast<typename Places<Real>::Bits>(number);
}

// The same bits for several orders and groupings, which are returned.
template <typename Real>
Real reduced_in_any_order(std::vector<Real> numbers, Operator op = Operator::sum) {
    std::mt19937_64 random(numbers.size());
    const Real first = reduced(numbers, op, random);
    for (int i = 0; i < 6; ++i) {
        std::shuffle(numbers.begin(), numbers.end(), random);
        EXPECT_EQ(bits(reduced(numbers, op, random)), bits(first));
    }
    return first;
}

template <typename Real>
std::vector<Real> random_numbers(std::mt19937_64& random, int count, int exponents) {
    std::vector<Real> numbers;
    for (int i = 0; i < count; ++i) {
        const auto exponent = static_cast<int>(random() % static_cast<unsigned>(exponents)) - exponents / 2;
        const double one = std::ldexp(1 + static_cast<double>(random() >> 12) * 0x1p-52, exponent);
        numbers.push_back(static_cast<Real>(static_cast<float>(random() % 2 == 0 ? one : -one)));
        if constexpr (std::is_same_v<Real, double>) numbers.back() = random() % 2 == 0 ? one : -one;
    }
    return numbers;
}

template <typename Real>
class BinnedSum : public testing::Test {};
using Reals = testing::Types<double, float, Float16, BFloat16>;
TYPED_TEST_SUITE(BinnedSum, Reals);

TYPED_TEST(BinnedSum, IsTheExactSumRoundedOnce) {
    std::mt19937_64 random(1);
    int differ = 0;
    for (int i = 0; i < 500; ++i) {
        auto numbers =
            random_numbers<TypeParam>(random, 1 + i % 40, std::is_same_v<TypeParam, Float16> ? 20 : 48);
        // Cancels all but the last places.
        if (i % 3 == 0 && numbers.size() > 1)
            numbers[0] = static_cast<TypeParam>(-static_cast<float>(numbers[1]));
        Exact exact = 0;
        auto plain = static_cast<TypeParam>(0.0F);
        for (const TypeParam number : numbers) {
            exact += static_cast<Exact>(static_cast<double>(number));
            plain = static_cast<TypeParam>(plain + number);
        }
        const TypeParam sum = reduced_in_any_order(numbers);
        if constexpr (sizeof(TypeParam) > 2) {
            EXPECT_EQ(sum, static_cast<TypeParam>(exact)) << i;
        }
        // The result of 16 bits is no further from the sum than its neighbours.
        const auto error = [&](TypeParam one) {
            const Exact off = static_cast<Exact>(static_cast<double>(one)) - exact;
            return off < 0 ? -off : off;
        };
        for (const int step : {-1, 1}) {
            const auto next = static_cast<typename Places<TypeParam>::Bits>(bits(sum) + step);
            const auto neighbour = std::bit_cast<TypeParam>(next);
            if (static_cast<float>(sum) != 0 && std::isfinite(static_cast<float>(neighbour))) {
                EXPECT_LE(error(sum), error(neighbour)) << i;
            }
        }
        differ += bits(plain) != bits(sum) ? 1 : 0;
    }
    EXPECT_GT(differ, 100);  // of a plain sum
}

TEST(Binned, WideExponentsStayWithinTheBound) {
    std::mt19937_64 random(2);
    for (int i = 0; i < 300; ++i) {
        const auto numbers = random_numbers<double>(random, 2 + i % 60, 2000);
        double largest = 0;
        for (const double number : numbers) largest = std::max(largest, std::abs(number));
        Exact exact = 0;
        for (const double number : numbers) exact += number;
        const Exact off = static_cast<Exact>(reduced_in_any_order(numbers)) - exact;
        EXPECT_LE(std::abs(static_cast<double>(off)), largest * 0x1p-52) << i;
    }
}

template <typename Real>
void expect_itself(Real number) {
    if (number == number) {
        EXPECT_EQ(bits(binned::rounded<Real>(binned::of(number))), bits(number));
    }
}

TEST(Binned, EveryNumberIsItsOwnSum) {
    std::mt19937_64 random(3);
    for (int i = 0; i < 100'000; ++i) {
        const auto number = std::bit_cast<double>(random());
        const auto small = std::bit_cast<float>(static_cast<std::uint32_t>(random()));
        expect_itself(number);
        expect_itself(small);
    }
    for (unsigned i = 0; i < 1U << 16; ++i) {
        expect_itself(std::bit_cast<Float16>(static_cast<std::uint16_t>(i)));
        expect_itself(std::bit_cast<BFloat16>(static_cast<std::uint16_t>(i)));
    }
}

TEST(Binned, Extremes) {
    using Limits = std::numeric_limits<double>;
    const double tiny = Limits::denorm_min();
    const double max = Limits::max();
    const double infinity = Limits::infinity();
    const double nan = Limits::quiet_NaN();
    EXPECT_EQ(reduced_in_any_order<double>({tiny, tiny, tiny, -tiny}), 2 * tiny);
    EXPECT_EQ(reduced_in_any_order<double>({Limits::min(), -tiny, tiny, tiny}), Limits::min() + tiny);
    EXPECT_EQ(reduced_in_any_order<double>({max, max, -max}), max);  // no sum in between overflows
    EXPECT_EQ(reduced_in_any_order<double>({max, max, 1}), infinity);
    EXPECT_EQ(reduced_in_any_order<double>({-max, -0x1p969, 0}), -max);
    EXPECT_EQ(reduced_in_any_order<double>({-max, -0x1p970, 0}), -infinity);
    EXPECT_EQ(reduced_in_any_order<double>({infinity, -max, -max}), infinity);
    EXPECT_EQ(bits(reduced_in_any_order<double>({infinity, 1, -infinity})), bits(nan));
    EXPECT_EQ(bits(reduced_in_any_order<double>({1, -nan, infinity})), bits(nan));
    EXPECT_EQ(bits(reduced_in_any_order<double>({-0.0, -0.0})), bits(-0.0));
    EXPECT_EQ(bits(reduced_in_any_order<double>({-0.0, 0.0})), bits(0.0));
    EXPECT_EQ(bits(reduced_in_any_order<double>({1, -0.0, -1})), bits(0.0));
    EXPECT_EQ(reduced_in_any_order<float>({0x1p-149F, 0x1p-149F}), 0x1p-148F);
    EXPECT_EQ(reduced_in_any_order<float>({1, 0x1p-24F, 0x1p-110F}), 1 + 0x1p-23F);  // just above a tie
    EXPECT_EQ(reduced_in_any_order<float>({1, 0x1p-24F}), 1.0F);
    EXPECT_EQ(reduced_in_any_order<float>({0x1p127F, 0x1p127F, -0x1p127F}), 0x1p127F);
    EXPECT_EQ(reduced_in_any_order<float>({0x1p127F, 0x1p127F}), std::numeric_limits<float>::infinity());
}

// The carries of as many contributions as fit a bin.
TEST(Binned, ManyContributions) {
    Binned sum = binned::of(-0x1.fffffffffffffp+40);
    for (int i = 0; i < 22; ++i) sum = sum + sum;
    EXPECT_EQ(binned::rounded<double>(sum), -0x1.fffffffffffffp+62);
}

TEST(Binned, MinimumAndMaximumOrderZerosAndKeepNaN) {
    const double nan = std::numeric_limits<double>::quiet_NaN();
    const double infinity = std::numeric_limits<double>::infinity();
    for (const Operator op : {Operator::minimum, Operator::maximum}) {
        const bool max = op == Operator::maximum;
        EXPECT_EQ(bits(reduced_in_any_order<double>({0.0, -0.0, 0.0}, op)), bits(max ? 0.0 : -0.0));
        EXPECT_EQ(bits(reduced_in_any_order<double>({1, -nan, infinity, -infinity}, op)), bits(nan));
        EXPECT_EQ(reduced_in_any_order<double>({1, infinity, -infinity}, op), max ? infinity : -infinity);
        EXPECT_EQ(reduced_in_any_order<float>({-3, -2.5F, 1e-40F}, op), max ? 1e-40F : -3);
    }
}

TEST(Binned, FormsOfTheProgramsTypes) {
    EXPECT_EQ(AssociativeForm::of(Operator::sum, Type::float64)->bytes(16), 2 * sizeof(Binned));
    EXPECT_EQ(AssociativeForm::of(Operator::sum, Type::complex64)->bytes(8), 2 * sizeof(Binned));
    EXPECT_EQ(AssociativeForm::of(Operator::maximum, Type::float32)->type(), Type::int32);
    EXPECT_FALSE(AssociativeForm::of(Operator::product, Type::float64));
    EXPECT_FALSE(AssociativeForm::of(Operator::sum, Type::long_double));
    EXPECT_FALSE(AssociativeForm::of(Operator::sum, Type::int32));
}

}  // namespace
}  // namespace lapwing
