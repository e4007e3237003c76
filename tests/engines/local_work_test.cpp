#include "engines/local_work.hpp"

#include <complex>

#include "support/unit.hpp"
#include "task/elements.hpp"

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
            // Bytes that are all alike are no long double of x87, which has its first digit in a bit.
            if (std::string_view(name(of)).find("long_double") != std::string_view::npos) {
                const std::size_t step =
                    of == Type::long_double_int32 ? size_in_bytes(of) : sizeof(long double);
                for (std::size_t at = 0; at < target.size(); at += step) {
                    const long double numbers[] = {3, 5};
                    std::memcpy(source.data() + at, &numbers[0], sizeof(long double));
                    std::memcpy(target.data() + at, &numbers[1], sizeof(long double));
                }
            }
            const std::vector<std::byte> before = target;
            reduce(one, of, target.data(), source.data(), target.size());
            const bool changes =
                applies(one, of) && one != Operator::maximum && one != Operator::maximum_location;
            EXPECT_EQ(target != before, changes) << name(one) << " of " << name(of);
        }
    }
}

template <typename Real>
void expect_nearest(Type type) {
    std::vector<Real> all;
    for (unsigned bits = 0; bits < 0x10000; ++bits) {
        const auto real = std::bit_cast<Real>(static_cast<std::uint16_t>(bits));
        const auto number = static_cast<float>(real);
        EXPECT_EQ(std::isnan(static_cast<float>(static_cast<Real>(number))), std::isnan(number));
        if (std::isnan(number)) continue;
        const auto again = static_cast<Real>(number);
        EXPECT_EQ(std::memcmp(&again, &real, sizeof real), 0) << number;
        if (bits < 0x8000) all.push_back(real);  // from zero to infinity
    }
    // The number after the largest finite one bounds what is rounded to infinity.
    const auto number = [&](std::size_t i) {
        return i + 1 < all.size()
                   ? double{static_cast<float>(all[i])}
                   : 2 * double{static_cast<float>(all[i - 1])} - double{static_cast<float>(all[i - 2])};
    };
    std::mt19937 random(1);
    for (int i = 0; i < 20'000; ++i) {
        // Numbers of all sizes, and numbers half way between two.
        const std::size_t at = random() % (all.size() - 1);
        const double share = i % 2 == 0 ? 0.5 : static_cast<double>(random()) / std::mt19937::max();
        const auto exact = static_cast<float>(number(at) + share * (number(at + 1) - number(at)));
        const double below = exact - number(at);
        const double above = number(at + 1) - exact;
        const std::size_t nearest = at + (below > above || (below == above && at % 2 == 1) ? 1 : 0);
        EXPECT_EQ(static_cast<float>(static_cast<Real>(exact)), static_cast<float>(all[nearest])) << exact;
        EXPECT_EQ(static_cast<float>(static_cast<Real>(-exact)), -static_cast<float>(all[nearest])) << exact;
    }
    const auto one = static_cast<Real>(1.0F);
    const auto sum = result<Real>(Operator::sum, type, one, static_cast<Real>(3e-5F));
    EXPECT_EQ(static_cast<float>(sum), 1.0F) << "rounded after each operation";
    EXPECT_EQ(static_cast<float>(result<Real>(Operator::maximum, type, one, static_cast<Real>(-2.0F))), 1.0F);
}

TEST(Reduce, HalfPrecisionIsRoundedToNearest) {
    expect_nearest<Float16>(Type::float16);
    expect_nearest<BFloat16>(Type::bfloat16);
}

TEST(Reduce, ComplexNumbersAndLongDoubles) {
    using Complex = std::complex<double>;
    EXPECT_EQ(result<Complex>(Operator::sum, Type::complex128, {1, 2}, {3, 4}), Complex(4, 6));
    EXPECT_EQ(result<Complex>(Operator::product, Type::complex128, {1, 2}, {3, 4}), Complex(-5, 10));
    // As C does: infinity by a number is infinite, not NaN.
    const double infinity = std::numeric_limits<double>::infinity();
    EXPECT_TRUE(std::isinf(
        result<Complex>(Operator::product, Type::complex128, {infinity, infinity}, {1, 1}).imag()));
    EXPECT_EQ(result<long double>(Operator::sum, Type::long_double, 1.0L, 0x1p-60L), 1.0L + 0x1p-60L);
}

TEST(Reduce, IntegersWrapAround) {
    using Limits = std::numeric_limits<std::int64_t>;
    EXPECT_EQ(result<std::int64_t>(Operator::sum, Type::int64, Limits::max(), 1), Limits::min());
    EXPECT_EQ(result<std::int8_t>(Operator::product, Type::int8, 100, 100), 16);
    EXPECT_EQ(result<std::uint16_t>(Operator::sum, Type::uint16, 65535, 2), 1);
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
