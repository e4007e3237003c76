#include "engines/local_work.hpp"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include <cstring>
#include <type_traits>

#include "task/elements.hpp"

namespace lapwing {
namespace {

#if defined(__SSE2__)
// Larger than a processor's private caches.
constexpr std::uint64_t min_past_caches = std::uint64_t{4} << 20;

// Writes without reading the target's cache lines first, which saves a third of the traffic. memcpy does so
// only above a share of the last-level cache, and virtual machines often report many times the size that they
// have.
void copy_past_caches(std::byte* target, const std::byte* source, std::uint64_t bytes) {
    constexpr std::uint64_t line = 64;
    const std::uint64_t head = -reinterpret_cast<std::uintptr_t>(target) % line;
    std::memcpy(target, source, head);
    std::uint64_t at = head;
    for (; at + line <= bytes; at += line) {
        auto* const to = reinterpret_cast<__m128i*>(target + at);
        const auto* const from = reinterpret_cast<const __m128i*>(source + at);
        const __m128i a = _mm_loadu_si128(from);
        const __m128i b = _mm_loadu_si128(from + 1);
        const __m128i c = _mm_loadu_si128(from + 2);
        const __m128i d = _mm_loadu_si128(from + 3);
        _mm_stream_si128(to, a);
        _mm_stream_si128(to + 1, b);
        _mm_stream_si128(to + 2, c);
        _mm_stream_si128(to + 3, d);
    }
    std::memcpy(target + at, source + at, bytes - at);
    // Makes the copy visible before later stores that announce it.
    _mm_sfence();
}
#endif

void copy(std::byte* target, const std::byte* source, std::uint64_t bytes) {
#if defined(__SSE2__)
    if (bytes >= min_past_caches) return copy_past_caches(target, source, bytes);
#endif
    std::memcpy(target, source, bytes);
}

// The type that an operator computes in. Sums and products of integers wrap around, also of signed ones, as
// in hardware.
template <Operator op, typename Element>
using Computed =
    std::conditional_t<std::is_integral_v<Element> && (op == Operator::sum || op == Operator::product),
                       std::uint64_t, std::conditional_t<is_half<Element>, float, Element>>;

template <Operator op, typename Element>
Element combine(Element first, Element second) {
    const auto a = static_cast<Computed<op, Element>>(first);
    const auto b = static_cast<Computed<op, Element>>(second);
#define LAPWING_OPERATOR(name, groups, expression) \
    if constexpr (op == Operator::name) return static_cast<Element>(expression);
#include "task/operators.def"
}

// Elements of any alignment. Each part of an element is loaded and stored by itself: compilers do not make
// vector instructions of a copy of the whole, nor load a long double from a copy of its 16 bytes without a
// delay.
template <typename Element>
struct Access {
    static Element load(const std::byte* at) {
        Element element;
        std::memcpy(&element, at, sizeof element);
        return element;
    }
    static void store(std::byte* at, Element element) { std::memcpy(at, &element, sizeof element); }
};
template <>
struct Access<long double> {
    struct [[gnu::packed, gnu::may_alias]] Unaligned {
        long double number;
    };
    static long double load(const std::byte* at) { return reinterpret_cast<const Unaligned*>(at)->number; }
    static void store(std::byte* at, long double number) {
        reinterpret_cast<Unaligned*>(at)->number = number;
    }
};
template <typename Real>
struct Access<std::complex<Real>> {
    using Part = Access<Real>;
    static std::complex<Real> load(const std::byte* at) {
        return {Part::load(at), Part::load(at + sizeof(Real))};
    }
    static void store(std::byte* at, std::complex<Real> number) {
        Part::store(at, number.real());
        Part::store(at + sizeof(Real), number.imag());
    }
};
template <typename Value, typename Index>
struct Access<Pair<Value, Index>> {
    static Pair<Value, Index> load(const std::byte* at) {
        return {Access<Value>::load(at), Access<Index>::load(at + sizeof(Value))};
    }
    static void store(std::byte* at, Pair<Value, Index> pair) {
        Access<Value>::store(at, pair.value);
        Access<Index>::store(at + sizeof(Value), pair.index);
    }
};

template <Operator op, typename Element>
void reduce_elements(std::byte* target, const std::byte* source, std::uint64_t bytes) {
    for (std::uint64_t at = 0; at < bytes; at += sizeof(Element)) {
        const Element a = Access<Element>::load(source + at);
        const Element b = Access<Element>::load(target + at);
        Access<Element>::store(target + at, combine<op>(a, b));
    }
}

template <ElementGroup group, typename Element>
void reduce_typed(Operator op, std::byte* target, const std::byte* source, std::uint64_t bytes) {
    switch (op) {
#define LAPWING_OPERATOR(name, groups, expression)                           \
    case Operator::name:                                                     \
        if constexpr ((group & (groups)) != 0) {                             \
            reduce_elements<Operator::name, Element>(target, source, bytes); \
        }                                                                    \
        break;
#include "task/operators.def"
        case Operator::user:
            break;
    }
}

}  // namespace

void reduce(Operator op, Type type, std::byte* target, const std::byte* source, std::uint64_t bytes) {
    switch (type) {
#define LAPWING_TYPE(name, element, group)                       \
    case Type::name:                                             \
        reduce_typed<group, element>(op, target, source, bytes); \
        break;
#include "task/types.def"
        case Type::opaque:
            break;
    }
}

void reduce(const Buffers& buffers, Operator op, Type type, std::byte* target, const std::byte* source,
            std::uint64_t bytes) {
    ProgramFloatingPoint::compute(buffers.floating_point, [&] {
        if (op == Operator::user)
            buffers.reducer->reduce(target, source, bytes);
        else
            reduce(op, type, target, source, bytes);
    });
}

void work(const Memory& memory, std::span<const Task> tasks) {
    for (const Task& task : tasks) {
        if (task.kind == Kind::copy) {
            copy(memory.target(task.target), memory.source(task.source), task.target.length);
        } else {
            reduce(memory.buffers, task.op, task.type, memory.target(task.target), memory.source(task.source),
                   task.target.length);
        }
    }
}

}  // namespace lapwing
