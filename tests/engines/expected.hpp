// What the buffers of a problem hold before and after, computed from the problem alone.
#pragma once

#include <vector>

#include "task/problem.hpp"

namespace lapwing::testing_engines {

// Byte `i` of the in of `rank` in run `run`.
inline std::byte in_byte(int rank, std::uint64_t i, int run) {
    return static_cast<std::byte>(rank * 37 + static_cast<int>(i % 251) * 5 + run * 11 +
                                  static_cast<int>(i / 251));
}
constexpr std::byte untouched{0xa5};

inline std::vector<std::byte> in_of(const Problem& problem, int rank, int run) {
    std::vector<std::byte> in(in_bytes(problem, rank));
    for (std::uint64_t i = 0; i < in.size(); ++i) in[i] = in_byte(rank, i, run);
    return in;
}

inline std::vector<std::byte> out_of(const Problem& problem, int rank, int run) {
    std::vector<std::byte> out(out_bytes(problem, rank), untouched);
    for (std::uint64_t i = 0; i < out.size(); ++i) {
        const int block = problem.bytes == 0 ? 0 : static_cast<int>(i / problem.bytes);
        const std::uint64_t at = problem.bytes == 0 ? 0 : i % problem.bytes;
        switch (problem.collective) {
            case Collective::broadcast:
                out[i] = in_byte(problem.root, i, run);
                break;
            case Collective::gather:
                if (!problem.in_place || block != problem.root) out[i] = in_byte(block, at, run);
                break;
            case Collective::alltoall:
                out[i] = in_byte(block, static_cast<std::uint64_t>(rank) * problem.bytes + at, run);
                break;
            default:
                break;
        }
    }
    return out;
}

}  // namespace lapwing::testing_engines
