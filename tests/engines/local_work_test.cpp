#include "engines/local_work.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <limits>
#include <string>
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

TEST(Reduce, LogicalOperatorsGiveOneOrNothing) {
    const Operator operators[] = {Operator::logical_and, Operator::logical_or, Operator::logical_xor};
    const int wanted[][4] = {{0, 0, 0, 1}, {0, 1, 1, 1}, {0, 1, 1, 0}};
    for (std::size_t i = 0; i < std::size(operators); ++i) {
        // Numbers of which only one has a bit in the lowest byte.
        constexpr std::int32_t truths[] = {0, 256};
        for (std::size_t a = 0; a < 2; ++a) {
            for (std::size_t b = 0; b < 2; ++b) {
                EXPECT_EQ(result<std::int32_t>(operators[i], Type::int32, truths[a], b == 0 ? 0 : -1),
                          wanted[i][2 * a + b]);
                EXPECT_EQ(result<std::uint8_t>(operators[i], Type::uint8, a == 0 ? 0 : 2, b == 0 ? 0 : 4),
                          wanted[i][2 * a + b]);
            }
        }
    }
}

TEST(Reduce, EveryOperatorOnItsTypes) {
    for (int op = 0; op < static_cast<int>(Operator::user); ++op) {
        for (int type = 0; type < static_cast<int>(Type::opaque); ++type) {
            const auto one = static_cast<Operator>(op);
            const auto of = static_cast<Type>(type);
            std::vector<std::byte> source(2 * size_in_bytes(of), std::byte{3});
            std::vector<std::byte> target(2 * size_in_bytes(of), std::byte{5});
            const std::vector<std::byte> before = target;
            reduce(one, of, target.data(), source.data(), target.size());
            const bool changes = !(integers_only(one) && !is_integer(of)) && one != Operator::maximum;
            EXPECT_EQ(target != before, changes) << name(one) << " of " << name(of);
        }
    }
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

// Concatenates strings, up to three letters.
class Strings : public Reducer {
  public:
    void reduce(std::byte* target, const std::byte* source, std::uint64_t bytes) noexcept override {
        for (std::uint64_t at = 0; at < bytes; at += 3) {
            std::string left(reinterpret_cast<const char*>(source + at), 3);
            const std::string right(reinterpret_cast<const char*>(target + at), 3);
            left = left.substr(0, left.find(' ')) + right;
            std::memcpy(target + at, left.data(), 3);
        }
        ++calls;
    }
    int calls = 0;
};

TEST(Work, CopiesAndReducesInOrder) {
    const char in[] = "a  b  ";
    char out[] = "......";
    Strings strings;
    Memory memory;
    memory.buffers = {reinterpret_cast<const std::byte*>(in), reinterpret_cast<std::byte*>(out), &strings};
    memory.make_scratch(6);
    const auto task = [](Kind kind, Span target, Span source) {
        Task made;
        made.kind = kind;
        made.op = Operator::user;
        made.type = Type::opaque;
        made.target = target;
        made.source = source;
        return made;
    };
    const std::vector<Task> tasks = {
        task(Kind::copy, {Space::scratch, 0, 6}, {Space::in, 0, 6}),
        task(Kind::copy, {Space::out, 3, 3}, {Space::scratch, 0, 3}),
        task(Kind::copy, {Space::out, 0, 3}, {Space::scratch, 3, 3}),
        // The source is the left operand.
        task(Kind::reduce, {Space::out, 0, 6}, {Space::scratch, 0, 6}),
        task(Kind::reduce, {Space::out, 3, 3}, {Space::in, 3, 3}),
    };
    work(memory, tasks);
    EXPECT_STREQ(out, "ab bba");
    EXPECT_EQ(strings.calls, 2);
}

// Longer than the processors' caches, with any alignment, and without changes beside the target.
TEST(Work, CopiesOfAnyLengthAreExact) {
    constexpr std::uint64_t longest = (std::uint64_t{4} << 20) + 67;
    constexpr std::byte untouched{0xee};
    std::vector<std::byte> in(longest + 64);
    for (std::uint64_t i = 0; i < in.size(); ++i) in[i] = static_cast<std::byte>(i * 31 + (i >> 9));
    std::vector<std::byte> out(longest + 128);
    for (const std::uint64_t length : {longest - 68, longest - 67, longest}) {
        for (const std::uint64_t skewed : {0, 1, 16, 63}) {
            std::fill(out.begin(), out.end(), untouched);
            Memory memory;
            memory.buffers = {in.data(), out.data(), nullptr};
            Task copy;
            copy.kind = Kind::copy;
            copy.source = {Space::in, 63 - skewed, length};
            copy.target = {Space::out, skewed, length};
            work(memory, std::vector<Task>{copy});
            EXPECT_EQ(std::memcmp(out.data() + skewed, in.data() + 63 - skewed, length), 0) << length;
            EXPECT_EQ(std::count(out.begin(), out.begin() + static_cast<std::ptrdiff_t>(skewed), untouched),
                      static_cast<std::ptrdiff_t>(skewed));
            EXPECT_EQ(out[skewed + length], untouched);
        }
    }
}

}  // namespace
}  // namespace lapwing
