// The contents of a problem's buffers before and after, computed from the problem alone.
#pragma once

#include "engines/local_work.hpp"
#include "support/unit.hpp"
#include "task/result.hpp"

namespace lapwing::testing_engines {

using Bytes = std::vector<std::byte>;

constexpr std::byte untouched{0xa5};

// Byte `i` is rank * 37 + run * 11 + i % 251 * 5 + i / 251. Copied from a table: tests spend most of their
// time here.
inline Bytes input_of(int rank, std::uint64_t offset, std::uint64_t length, int run) {
    static const Bytes period = [] {
        Bytes bytes(std::size_t{251} * 256);
        for (std::size_t i = 0; i < bytes.size(); ++i)
            bytes[i] = static_cast<std::byte>(i % 251 * 5 + i / 251);
        return bytes;
    }();
    Bytes bytes(length);
    std::uint64_t from = offset + static_cast<std::uint64_t>(rank * 37 + run * 11) * 251;
    for (std::uint64_t done = 0, part = 0; done < length; done += part, from += part) {
        from %= period.size();
        part = std::min(length - done, period.size() - from);
        std::memcpy(bytes.data() + done, period.data() + from, part);
    }
    return bytes;
}

// The initial contents of in and out. If the problem is in place, the input is in out.
inline Bytes in_of(const Problem& problem, int rank, int run) {
    return input_of(rank, 0, in_bytes(problem, rank), run);
}
inline Bytes out_before(const Problem& problem, int rank, int run) {
    Bytes out(out_bytes(problem, rank), untouched);
    const Span own = whole_input(problem, rank);
    if (own.space == Space::out) {
        const Bytes input = input_of(rank, 0, own.length, run);
        std::copy(input.begin(), input.end(), out.begin() + static_cast<std::ptrdiff_t>(own.offset));
    }
    return out;
}

// The program's own function, on elements of eight bytes: the composition of two functions x -> a * x + b,
// which is associative but not commutative.
class Composition : public Reducer {
  public:
    void reduce(std::byte* target, const std::byte* source, std::uint64_t bytes) noexcept override {
        for (std::uint64_t at = 0; at < bytes; at += 8) {
            std::uint32_t left[2];
            std::uint32_t right[2];
            std::memcpy(left, source + at, 8);
            std::memcpy(right, target + at, 8);
            left[0] |= 1;  // so that products lose no bits
            right[1] = left[0] * right[1] + left[1];
            right[0] = left[0] * (right[0] | 1);
            std::memcpy(target + at, right, 8);
        }
    }
};

// The final out of `rank`. Bytes of an in-place input that no result replaces are copied from `now`.
inline Bytes out_after(const Problem& problem, int rank, int run, const Bytes& now) {
    Bytes out(out_bytes(problem, rank), untouched);
    const Span own = whole_input(problem, rank);
    const auto place = [](const Span& span) { return static_cast<std::ptrdiff_t>(span.offset); };
    if (own.space == Space::out && now.size() == out.size())
        std::copy_n(now.begin() + place(own), own.length, out.begin() + place(own));
    for (const Result& result : results(problem, rank)) {
        const std::uint64_t length = result.out.length;
        Bytes bytes = input_of(result.last, result.offset, length, run);
        for (int from = result.last - 1; from >= result.first; --from) {
            const Bytes left = input_of(from, result.offset, length, run);
            if (problem.op == Operator::user)
                Composition().reduce(bytes.data(), left.data(), length);
            else
                reduce(problem.op, problem.type, bytes.data(), left.data(), length);
        }
        std::copy(bytes.begin(), bytes.end(), out.begin() + place(result.out));
    }
    return out;
}

}  // namespace lapwing::testing_engines
