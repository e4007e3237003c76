// Allgather by Bruck's algorithm: log2(ranks) messages for any number of ranks. For short blocks, and for
// blocks of different lengths if few ranks have most of the bytes: a long block then travels log2(ranks)
// times instead of around the whole ring. Bruck et al. 1997, "Efficient algorithms for all-to-all
// communications in multiport message-passing systems", section 4 (concatenation); Thakur, Rabenseifner,
// Gropp 2005, "Optimization of Collective Communication Operations in MPICH", section 4.1.
//
// Before step k a rank has the blocks of the 2^k ranks from itself upwards. It sends them to the rank 2^k
// below, and receives those of the next 2^k ranks from the rank 2^k above. All blocks are kept in scratch, in
// order of arrival.
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
    return within_scratch(bytes_of_all_blocks(problem), 1,
                          "all blocks together need more than 1 GiB of scratch");
}

List build(const Problem& problem, int rank, const Parameters&) {
    const int ranks = problem.ranks;
    const bool one_length = !has_parts(problem.collective);
    const auto above = [&](int distance) { return absolute_rank(distance, rank, ranks); };
    const auto below = [&](int distance) { return absolute_rank(ranks - distance, rank, ranks); };

    // By distance: where the block of the rank that far above begins in scratch, in order of arrival.
    std::vector<std::uint64_t> begins(one_length ? 0 : static_cast<std::size_t>(ranks) + 1);
    for (std::size_t d = 1; d < begins.size(); ++d) {
        begins[d] = begins[d - 1] + block_from(problem, rank, above(static_cast<int>(d) - 1)).length;
    }
    const auto at = [&](int distance) {
        return one_length ? static_cast<std::uint64_t>(distance) * problem.bytes
                          : begins[static_cast<std::size_t>(distance)];
    };

    Builder list(problem, rank,
                 3 * static_cast<std::uint64_t>(ceil_log2(ranks)) +
                     (one_length ? 4 : static_cast<std::uint64_t>(ranks) + 1));
    const Span collected = list.scratch(ranks > 1 ? at(ranks) : 0);
    const auto blocks = [&](int begin, int end) { return collected.part(at(begin), at(end) - at(begin)); };
    const auto arrival = [&](int step) { return blocks(step, std::min(2 * step, ranks)); };
    for (int step = 1; step < ranks; step *= 2) {
        if (arrival(step).length > 0) list.recv(above(step), arrival(step));
    }
    if (ranks > 1) list.copy(blocks(0, 1), block_to(problem, rank, rank));
    for (int step = 1; step < ranks; step *= 2) {
        const Span sent = blocks(0, std::min(step, ranks - step));
        if (sent.length > 0) list.send(below(step), sent);
        if (arrival(step).length > 0) list.wait(above(step));
    }
    list.copy(block_from(problem, rank, rank), block_to(problem, rank, rank));
    // Blocks of one length are adjacent in out as well: up to the last rank, and again from rank 0 on.
    for (int d = 1, end = 0; d < ranks; d = end) {
        end = !one_length ? d + 1 : d < ranks - rank ? ranks - rank : ranks;
        const Span arrived = blocks(d, end);
        list.copy(out(block_from(problem, rank, above(d)).offset, arrived.length), arrived);
    }
    return list.finish();
}

double cost(const Problem& problem, const Parameters&, const Machine& machine) {
    const double all = static_cast<double>(bytes_of_all_blocks(problem));
    const double longest = longest_block(problem);
    double moved = 0;
    for (int step = 1; step < problem.ranks; step *= 2) {
        moved += std::min(all, longest * std::min(step, problem.ranks - step));
    }
    const double copies = has_parts(problem.collective) ? problem.ranks + 1 : 3;
    return ceil_log2(problem.ranks) * (machine.latency + 2 * machine.task) + moved * machine.per_byte +
           copies * machine.copy + (all + longest) * machine.copy_per_byte;
}

}  // namespace

const Algorithm bruck = {
    .summary = "send all blocks received so far to the rank 1, 2, 4, ... below",
    .source = "Bruck et al. 1997, section 4; Thakur, Rabenseifner, Gropp 2005, section 4.1",
    .applies = applies,
    .build = build,
    .cost = cost,
};

}  // namespace lapwing::allgather
