#include "engines/local_work.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <vector>

namespace lapwing {
namespace {

// target op= source for one element, from an address that is not aligned.
template <typename Element>
Element result(Operator op, Type type, Element source, Element target) {
    std::vector<std::byte> memory(1 + 2 * sizeof(Element));
    std::memcpy(memory.data() + 1, &source, sizeof source);
    std::memcpy(memory.data() + 1 + sizeof source, &target, sizeof target);
    reduce(op, type, memory.data() + 1 + sizeof source, memory.data() + 1, sizeof(Element));
    std::memcpy(&target, memory.data() + 1 + sizeof source, sizeof target);
    return target;
}

TEST(Reduce, EveryOperatorOnIntegers) {
    EXPECT_EQ(result<std::int32_t>(Operator::sum, Type::int32, 6, 3), 9);
    EXPECT_EQ(result<std::int32_t>(Operator::product, Type::int32, 6, -3), -18);
    EXPECT_EQ(result<std::int32_t>(Operator::minimum, Type::int32, 6, -3), -3);
    EXPECT_EQ(result<std::int32_t>(Operator::maximum, Type::int32, 6, -3), 6);
    EXPECT_EQ(result<std::uint8_t>(Operator::bit_and, Type::uint8, 6, 3), 2);
    EXPECT_EQ(result<std::uint8_t>(Operator::bit_or, Type::uint8, 6, 3), 7);
    EXPECT_EQ(result<std::uint8_t>(Operator::bit_xor, Type::uint8, 6, 3), 5);
}

TEST(Reduce, FloatingPoint) {
    EXPECT_EQ(result<double>(Operator::sum, Type::float64, 0.5, 0.25), 0.75);
    EXPECT_EQ(result<float>(Operator::product, Type::float32, 0.5F, 0.25F), 0.125F);
    EXPECT_EQ(result<double>(Operator::maximum, Type::float64, -0.5, -2.0), -0.5);
}

TEST(Reduce, IntegersWrapAround) {
    using Limits = std::numeric_limits<std::int64_t>;
    EXPECT_EQ(result<std::int64_t>(Operator::sum, Type::int64, Limits::max(), 1), Limits::min());
    EXPECT_EQ(result<std::int8_t>(Operator::product, Type::int8, 100, 100), 16);
    EXPECT_EQ(result<std::uint16_t>(Operator::sum, Type::uint16, 65535, 2), 1);
}

TEST(Reduce, ManyElements) {
    std::vector<float> source(1000, 1.0F);
    std::vector<float> target(1000, 2.0F);
    reduce(Operator::sum, Type::float32, reinterpret_cast<std::byte*>(target.data()),
           reinterpret_cast<const std::byte*>(source.data()), 1000 * sizeof(float));
    EXPECT_EQ(target, std::vector<float>(1000, 3.0F));
}

}  // namespace
}  // namespace lapwing
