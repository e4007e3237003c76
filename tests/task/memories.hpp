// The memories of ranks that run lists on real bytes, and what out must hold at the end, computed from the
// problem and the memories at the start.
#pragma once

#include "support/unit.hpp"
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

// The memories of all ranks, with random bytes at the start.
class Memories {
    using OfRank = std::vector<MemoryBytes>;  // by space

    static auto& of(auto& memories, int rank, Space space) {
        return memories[static_cast<std::size_t>(rank)][static_cast<std::size_t>(space)];
    }
    static auto part(auto& memory, const Span& span) {
        return memory.begin() + static_cast<std::ptrdiff_t>(span.offset);
    }

  public:
    // `lists` has one list or one chain form for each rank.
    template <typename Lists>
    Memories(const Problem& problem, const Lists& lists, std::mt19937& random) : problem_(problem) {
        for (const auto& list : lists) {
            OfRank& memories = now_.emplace_back();
            for (const std::uint64_t bytes : {list.in_bytes, list.out_bytes, list.scratch_bytes}) {
                std::generate_n(std::back_inserter(memories.emplace_back()), bytes,
                                [&] { return static_cast<unsigned char>(random()); });
            }
        }
        start_ = now_;
    }

    unsigned char* at(int rank, const Span& span) { return of(now_, rank, span.space).data() + span.offset; }

    // Returns whether the rank's out is right. Bytes of an input in place that no result replaces may be
    // anything.
    bool right(int rank) const {
        const MemoryBytes& out = of(now_, rank, Space::out);
        MemoryBytes wanted = of(start_, rank, Space::out);
        const Span own = whole_input(problem_, rank);
        if (own.space == Space::out) std::copy_n(part(out, own), own.length, part(wanted, own));
        for (const Result& result : results(problem_, rank)) {
            MemoryBytes bytes = input_of(result.last, result);
            for (int from = result.last - 1; from >= result.first; --from)
                reduce_bytes(problem_, bytes.data(), input_of(from, result).data(), bytes.size());
            std::copy(bytes.begin(), bytes.end(), part(wanted, result.out));
        }
        return out == wanted;
    }

  private:
    MemoryBytes input_of(int rank, const Result& result) const {
        const Span span = input(problem_, rank, result.offset, result.out.length);
        const auto begin = part(of(start_, rank, span.space), span);
        return {begin, begin + static_cast<std::ptrdiff_t>(span.length)};
    }

    const Problem& problem_;
    std::vector<OfRank> now_;
    std::vector<OfRank> start_;
};

}  // namespace lapwing
