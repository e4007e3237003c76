#include "engines/agreement.hpp"

#include <fenv.h>

#include <complex>

#include "engines/local_work.hpp"
#include "support/unit.hpp"
#include "task/elements.hpp"

namespace lapwing {
namespace {

class Own : public Reducer {
  public:
    Own(Operator op, Type type) : op_(op), type_(type) {}
    void reduce(std::byte* target, const std::byte* source, std::uint64_t bytes) noexcept override {
        lapwing::reduce(op_, type_, target, source, bytes);
    }

  private:
    Operator op_;
    Type type_;
};

template <typename Element>
class Other : public Reducer {
  public:
    using Combine = std::function<Element(Element source, Element target)>;
    explicit Other(Combine combine) : combine_(std::move(combine)) {}
    void reduce(std::byte* target, const std::byte* source, std::uint64_t bytes) noexcept override {
        for (std::uint64_t at = 0; at < bytes; at += sizeof(Element)) {
            Element a;
            Element b;
            std::memcpy(&a, source + at, sizeof a);
            std::memcpy(&b, target + at, sizeof b);
            b = combine_(a, b);
            std::memcpy(target + at, &b, sizeof b);
        }
    }

  private:
    Combine combine_;
};

template <typename Element>
bool agrees_with(Operator op, Type type, typename Other<Element>::Combine combine, bool truth = false) {
    Other<Element> other(std::move(combine));
    return agrees(other, op, type, truth);
}

TEST(Agreement, EveryOperatorAgreesWithItself) {
    for (int op = 0; op < static_cast<int>(Operator::user); ++op) {
        for (int type = 0; type < static_cast<int>(Type::opaque); ++type) {
            const auto one = static_cast<Operator>(op);
            const auto of = static_cast<Type>(type);
            if (!applies(one, of)) continue;
            Own own(one, of);
            EXPECT_TRUE(agrees(own, one, of, false)) << name(one) << " of " << name(of);
        }
    }
    EXPECT_FALSE(agrees_with<int>(Operator::user, Type::opaque, std::plus<int>()));
}

TEST(Agreement, TheEnvironmentOfTheProgramStaysAsItIs) {
    ::fesetround(FE_UPWARD);
    ::feclearexcept(FE_ALL_EXCEPT);
    ::feenableexcept(FE_INVALID | FE_OVERFLOW);
    EXPECT_TRUE(agrees_with<double>(Operator::sum, Type::float64, [](double a, double b) {
        EXPECT_EQ(::fegetround(), FE_TONEAREST);
        return a + b;
    }));
    EXPECT_EQ(::fetestexcept(FE_ALL_EXCEPT), 0);
    EXPECT_EQ(::fegetround(), FE_UPWARD);
    EXPECT_EQ(::fegetexcept() & FE_ALL_EXCEPT, FE_INVALID | FE_OVERFLOW);
    ::fesetenv(FE_DFL_ENV);
}

TEST(Agreement, ComplexProductsByAnotherFormulaAreSeen) {
    using Complex = std::complex<double>;
    const auto agreed = [](auto product) {
        return agrees_with<Complex>(Operator::product, Type::complex128, product);
    };
    EXPECT_TRUE(agreed([](Complex a, Complex b) { return a * b; }));
    EXPECT_FALSE(agreed([](Complex a, Complex b) {
        return Complex(a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real());
    })) << "without the infinities that C recovers";
    EXPECT_FALSE(agreed([](Complex a, Complex b) {
        const Complex product = a * b;
        if (!std::isfinite(product.real()) || !std::isfinite(product.imag())) return product;
        return Complex(std::fma(a.real(), b.real(), -(a.imag() * b.imag())), product.imag());
    })) << "with fused operations";
}

TEST(Agreement, RoundingOfHalfPrecisionIsSeen) {
    const auto bits = [](BFloat16 a, BFloat16 b) {
        const float sum = static_cast<float>(a) + static_cast<float>(b);
        return std::bit_cast<std::uint32_t>(sum);
    };
    EXPECT_TRUE(agrees_with<BFloat16>(Operator::sum, Type::bfloat16, [&](BFloat16 a, BFloat16 b) {
        return BFloat16(std::bit_cast<float>(bits(a, b)));
    }));
    EXPECT_FALSE(agrees_with<BFloat16>(Operator::sum, Type::bfloat16, [&](BFloat16 a, BFloat16 b) {
        return BFloat16(std::bit_cast<float>(bits(a, b) & 0xffff0000U));
    })) << "truncated";
    EXPECT_FALSE(agrees_with<BFloat16>(Operator::sum, Type::bfloat16, [&](BFloat16 a, BFloat16 b) {
        return BFloat16(std::bit_cast<float>((bits(a, b) + 0x8000U) & 0xffff0000U));
    })) << "ties rounded up";
}

TEST(Agreement, LocationsOfTiesAreSeen) {
    EXPECT_FALSE(agrees_with<Float32Pair>(Operator::minimum_location, Type::float32_int32,
                                          [](Float32Pair a, Float32Pair b) {
                                              if (a.value == b.value) return a.index > b.index ? a : b;
                                              return a.value < b.value ? a : b;
                                          }))
        << "the highest";
}

TEST(Agreement, WhatDependsOnTheOrderIsLeftOpen) {
    // Of equal zeros the other one, and of a NaN and a number the other one.
    EXPECT_TRUE(agrees_with<double>(Operator::minimum, Type::float64,
                                    [](double a, double b) { return a < b ? a : b; }));
    EXPECT_FALSE(agrees_with<double>(Operator::minimum, Type::float64,
                                     [](double a, double b) { return a > b ? a : b; }));
}

TEST(Agreement, TruthValues) {
    const auto bits = [](std::int32_t a, std::int32_t b) { return a & b; };
    EXPECT_TRUE(agrees_with<std::int32_t>(Operator::logical_and, Type::int32, bits, true));
    EXPECT_FALSE(agrees_with<std::int32_t>(Operator::logical_and, Type::int32, bits));
    EXPECT_FALSE(agrees_with<std::int32_t>(
        Operator::logical_and, Type::int32,
        [](std::int32_t a, std::int32_t b) { return a != 0 && b != 0 ? -1 : 0; }, true))
        << "true is -1";
}

}  // namespace
}  // namespace lapwing
