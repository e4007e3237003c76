// What a rank's out holds at the end, computed from the problem and the memories at the start.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <utility>
#include <vector>

#include "task/result.hpp"

namespace lapwing {

using MemoryBytes = std::vector<unsigned char>;

// The reductions of these tests: sums of uint32; and, of eight opaque bytes, the composition of two functions
// x -> a * x + b, which is associative but does not commute.
inline void reduce_bytes(const Problem& problem, unsigned char* target, const unsigned char* source,
                         std::uint64_t bytes) {
    const auto get = [](const unsigned char* from) {
        std::uint32_t number = 0;
        std::memcpy(&number, from, sizeof number);
        return number;
    };
    const auto put = [](unsigned char* to, std::uint32_t number) { std::memcpy(to, &number, sizeof number); };
    if (problem.op == Operator::sum && problem.type == Type::uint32) {
        for (std::uint64_t i = 0; i + 4 <= bytes; i += 4) put(target + i, get(source + i) + get(target + i));
    } else if (problem.op == Operator::user && problem.element == 8) {
        for (std::uint64_t i = 0; i + 8 <= bytes; i += 8) {
            const std::uint32_t a = get(source + i) | 1U;
            const std::uint32_t b = get(source + i + 4);
            put(target + i + 4, a * get(target + i + 4) + b);
            put(target + i, a * (get(target + i) | 1U));
        }
    } else {
        throw std::logic_error("a reduction that these tests do not know");
    }
}

// `start(rank, space)` gives that rank's memory as it was at the start; `now` is the rank's out, for the
// bytes that may be anything: those of an input in place that no result replaces.
template <typename Start>
MemoryBytes expected_out(const Problem& problem, int rank, Start start, const MemoryBytes& now) {
    const auto part = [](auto& memory, const Span& span) {
        return memory.begin() + static_cast<std::ptrdiff_t>(span.offset);
    };
    const auto input_of = [&](int from, std::uint64_t offset, std::uint64_t bytes) {
        const Span span = input(problem, from, offset, bytes);
        const MemoryBytes& memory = start(from, span.space);
        return MemoryBytes(part(memory, span), part(memory, span) + static_cast<std::ptrdiff_t>(span.length));
    };
    MemoryBytes wanted = start(rank, Space::out);
    const Span own = whole_input(problem, rank);
    if (own.space == Space::out) {
        std::copy_n(part(now, own), own.length, part(wanted, own));
    }
    for (const Result& result : results(problem, rank)) {
        MemoryBytes bytes = input_of(result.last, result.offset, result.out.length);
        for (int from = result.last - 1; from >= result.first; --from) {
            const MemoryBytes left = input_of(from, result.offset, result.out.length);
            reduce_bytes(problem, bytes.data(), left.data(), bytes.size());
        }
        std::copy(bytes.begin(), bytes.end(), part(wanted, result.out));
    }
    return wanted;
}

}  // namespace lapwing
