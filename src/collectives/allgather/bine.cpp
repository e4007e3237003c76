// Allgather by a Bine butterfly: recursive doubling that begins with the farthest peer, so that a rank's few
// first blocks go far and the many later ones to its neighbours. De Sensi et al. 2025, "Bine Trees: Enhancing
// Collective Operations by Optimizing Communication Locality" (the allgather that permutes).
//
// The blocks that a rank has before a step do not belong to neighbouring ranks. They are kept in scratch, in
// the order of the places of the butterfly, in which they are adjacent, and are copied to out at the end.
#include "collectives/bine.hpp"

#include <algorithm>
#include <vector>

#include "collectives/arithmetic.hpp"
#include "collectives/blocks.hpp"
#include "collectives/rows.hpp"
#include "collectives/scratch.hpp"
#include "task/builder.hpp"

namespace lapwing::allgather {
namespace {

Verdict applies(const Problem& problem, const Parameters&) {
    const Verdict power = bine::applies_to(problem.ranks);
    if (!power) return power;
    return within_scratch(bytes_of_all_blocks(problem), 1,
                          "all blocks together need more than 1 GiB of scratch");
}

List build(const Problem& problem, int rank, const Parameters&) {
    const int ranks = problem.ranks;
    const int steps = ceil_log2(ranks);
    const Span own = block_to(problem, rank, rank);
    Builder list(problem, rank,
                 static_cast<std::uint64_t>(ranks) + 3 * static_cast<std::uint64_t>(steps) + 1);
    if (ranks > 1) {
        std::vector<int> rank_of(static_cast<std::size_t>(ranks));  // by place
        for (int r = 0; r < ranks; ++r) rank_of[static_cast<std::size_t>(bine::place(r, ranks))] = r;
        std::vector<std::uint64_t> begins = {0};  // in scratch, by place
        for (const int r : rank_of) begins.push_back(begins.back() + block_from(problem, rank, r).length);

        const Span collected = list.scratch(begins.back());
        const auto blocks = [&](int first, int count) {
            const std::uint64_t begin = begins[static_cast<std::size_t>(first)];
            return collected.part(begin, begins[static_cast<std::size_t>(first + count)] - begin);
        };
        const int place = bine::place(rank, ranks);
        const auto held = [&](int count) { return blocks(place & ~(count - 1), count); };
        const auto arrival = [&](int count) { return blocks((place & ~(count - 1)) ^ count, count); };
        // `count`: the blocks that a rank has before the step.
        for (int step = steps - 1, count = 1; step >= 0; --step, count *= 2) {
            if (arrival(count).length > 0) list.recv(bine::peer(rank, step, ranks), arrival(count));
        }
        list.copy(held(1), own);
        for (int step = steps - 1, count = 1; step >= 0; --step, count *= 2) {
            const int peer = bine::peer(rank, step, ranks);
            if (held(count).length > 0) list.send(peer, held(count));
            if (arrival(count).length > 0) list.wait(peer);
        }
        for (int r = 0; r < ranks; ++r) {
            if (r != rank) list.copy(block_from(problem, rank, r), blocks(bine::place(r, ranks), 1));
        }
    }
    list.copy(block_from(problem, rank, rank), own);
    return list.finish();
}

double cost(const Problem& problem, const Parameters&, const Machine& machine) {
    const double all = static_cast<double>(bytes_of_all_blocks(problem));
    const double longest = longest_block(problem);
    double moved = 0;
    for (int count = 1; count < problem.ranks; count *= 2) moved += std::min(all, longest * count);
    return ceil_log2(problem.ranks) * (machine.latency + 2 * machine.task) + moved * machine.per_byte +
           (problem.ranks + 1) * machine.copy + (all + longest) * machine.copy_per_byte;
}

}  // namespace

const Algorithm bine = {
    .summary = "exchange all blocks received so far with the rank ..., 11, 5, 3, 1, 1 away",
    .source = "De Sensi et al. 2025",
    .applies = applies,
    .build = build,
    .cost = cost,
};

}  // namespace lapwing::allgather
