// What a rank's out holds at the end, computed from the problem and the memories at the start.
#pragma once

#include <cstdint>
#include <cstring>
#include <vector>

#include "task/problem.hpp"

namespace lapwing {

using MemoryBytes = std::vector<unsigned char>;

// uint32 sums, the only reduction of these tests.
inline void add_uint32(unsigned char* target, const unsigned char* source, std::uint64_t bytes) {
    for (std::uint64_t i = 0; i + 4 <= bytes; i += 4) {
        std::uint32_t a = 0;
        std::uint32_t b = 0;
        std::memcpy(&a, target + i, 4);
        std::memcpy(&b, source + i, 4);
        a += b;
        std::memcpy(target + i, &a, 4);
    }
}

// `in(from)` and `out(from)` give that rank's memories at the start.
template <typename In, typename Out>
MemoryBytes expected_out(const Problem& problem, int rank, In in, Out out) {
    const std::size_t bytes = problem.bytes;
    MemoryBytes wanted;
    const auto append = [&](int from, std::size_t offset) {
        const bool kept = problem.in_place && from == problem.root;
        const MemoryBytes& memory = kept ? out(from) : in(from);
        const auto begin = memory.begin() + static_cast<std::ptrdiff_t>(
                                                kept ? bytes * static_cast<std::size_t>(from) : offset);
        wanted.insert(wanted.end(), begin, begin + static_cast<std::ptrdiff_t>(bytes));
    };
    switch (problem.collective) {
        case Collective::barrier:
            break;
        case Collective::broadcast:
            if (rank != problem.root) append(problem.root, 0);
            break;
        case Collective::gather:
            for (int from = 0; rank == problem.root && from < problem.ranks; ++from) append(from, 0);
            break;
        case Collective::alltoall:
            for (int from = 0; from < problem.ranks; ++from)
                append(from, bytes * static_cast<std::size_t>(rank));
            break;
        case Collective::reduce:
        case Collective::allreduce:
            if (problem.collective == Collective::reduce && rank != problem.root) break;
            wanted.assign(bytes, 0);
            for (int from = 0; from < problem.ranks; ++from)
                add_uint32(wanted.data(), in(from).data(), bytes);
            break;
    }
    return wanted;
}

}  // namespace lapwing
