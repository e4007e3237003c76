// One problem of three ranks for each collective, for the tests of sizes and results.
#pragma once

#include "task/parts.hpp"
#include "task/problem.hpp"

namespace lapwing {

// Blocks of 4 bytes.
inline Problem three_blocks(Collective collective, int root = 0, bool in_place = false) {
    return {.collective = collective,
            .ranks = 3,
            .root = root,
            .bytes = collective == Collective::barrier ? 0U : 4U,
            .in_place = in_place,
            .type = Type::uint32};
}

// Block `from` or, of what a root or a vector holds, `to` has that many times 4 bytes.
inline Problem three_by_parts(Collective collective, int root = 0, bool in_place = false) {
    Problem problem = three_blocks(collective, root, in_place);
    const bool by_sender = collective != Collective::scatterv && collective != Collective::reduce_scatter;
    problem.parts = all_parts(
        problem, [&](int from, int to) { return 4 * static_cast<std::uint64_t>(by_sender ? from : to); });
    problem.bytes = average_block(problem);
    return problem;
}

}  // namespace lapwing
