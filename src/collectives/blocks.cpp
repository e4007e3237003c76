#include "collectives/blocks.hpp"

#include <algorithm>

#include "task/builder.hpp"

namespace lapwing {

Span block_to(const Problem& problem, int rank, int to) {
    switch (problem.collective) {
        case Collective::scatter:
        case Collective::alltoall:
            return in(static_cast<std::uint64_t>(to) * problem.bytes, problem.bytes);
        case Collective::scatterv:
        case Collective::alltoallv: {
            const Part& part = problem.parts_of(rank).sends[static_cast<std::size_t>(to)];
            return in(part.offset, part.bytes);
        }
        default:  // the same for every rank
            return whole_input(problem, rank);
    }
}

Span block_from(const Problem& problem, int rank, int from) {
    if (!has_parts(problem.collective)) {
        if (problem.collective == Collective::scatter) return out(0, out_bytes(problem, rank));
        return out(static_cast<std::uint64_t>(from) * problem.bytes, problem.bytes);
    }
    const std::vector<Part>& receives = problem.parts_of(rank).receives;
    if (receives.empty()) return out(0, 0);  // scatterv, in place
    const Part& part =
        receives[problem.collective == Collective::scatterv ? 0 : static_cast<std::size_t>(from)];
    return out(part.offset, part.bytes);
}

double longest_block(const Problem& problem) {
    constexpr double default_block = 16384;
    if (!has_parts(problem.collective)) return static_cast<double>(problem.bytes);
    if (problem.collective != Collective::allgatherv) return default_block;
    std::uint64_t longest = 0;
    for (const Part& part : problem.parts_of(0).receives) longest = std::max(longest, part.bytes);
    return static_cast<double>(longest);
}

std::uint64_t bytes_of_all_blocks(const Problem& problem) {
    if (!has_parts(problem.collective)) return static_cast<std::uint64_t>(problem.ranks) * problem.bytes;
    std::uint64_t bytes = 0;
    for (const Part& part : problem.parts_of(0).receives) bytes += part.bytes;
    return bytes;
}

}  // namespace lapwing
