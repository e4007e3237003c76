// Alltoall by Bruck's algorithm: about log2(ranks) messages, each of half the blocks. For short blocks.
// Bruck et al. 1994, "Efficient algorithms for all-to-all communications in multi-port message-passing
// systems", section 3; Kaiser et al. 2009, section 3.2.
//
// A block that must travel d ranks upwards moves 2^k ranks in step k when bit k of d is set. Blocks stay
// where they arrived until they are packed for their next step, so each step copies a block once.
#include <vector>

#include "collectives/arithmetic.hpp"
#include "collectives/rows.hpp"
#include "collectives/scratch.hpp"
#include "task/builder.hpp"

namespace lapwing::alltoall {
namespace {

Verdict applies(const Problem& problem, const Parameters&) {
    const std::uint64_t packed =
        static_cast<std::uint64_t>(problem.ranks) * static_cast<std::uint64_t>(ceil_log2(problem.ranks) + 1);
    return within_scratch(problem.bytes, packed,
                          "the packed blocks of all steps need more than 1 GiB of scratch");
}

List build(const Problem& problem, int rank, const Parameters&) {
    const int ranks = problem.ranks;
    const std::uint64_t bytes = problem.bytes;
    const auto block = [&](int r) { return static_cast<std::uint64_t>(r) * bytes; };
    const auto above = [&](int distance) { return absolute_rank(distance, rank, ranks); };
    const auto below = [&](int distance) { return absolute_rank(ranks - distance, rank, ranks); };
    const auto travels = [&](int step) {  // how many distances have this step's bit
        int count = 0;
        for (int d = 1 << step; d < ranks; d = (d + 1) | (1 << step)) ++count;
        return count;
    };

    const int steps = ceil_log2(ranks);
    Builder list(problem, rank,
                 static_cast<std::uint64_t>(ranks) * static_cast<std::uint64_t>(steps / 2 + 2));
    std::vector<Span> arrivals;
    for (int step = 0; step < steps; ++step) {
        arrivals.push_back(list.scratch(block(travels(step))));
        list.recv(below(1 << step), arrivals.back());
    }

    // where[d]: the block that has d ranks to travel in all, at this moment.
    std::vector<Span> where(static_cast<std::size_t>(ranks));
    for (int d = 0; d < ranks; ++d) where[static_cast<std::size_t>(d)] = in(block(above(d)), bytes);
    for (int step = 0; step < steps; ++step) {
        const Span& arrival = arrivals[static_cast<std::size_t>(step)];
        const Span packed = list.scratch(arrival.length);
        std::uint64_t at = 0;
        for (int d = 1 << step; d < ranks; d = (d + 1) | (1 << step), at += bytes) {
            list.copy(packed.part(at, bytes), where[static_cast<std::size_t>(d)]);
            where[static_cast<std::size_t>(d)] = arrival.part(at, bytes);
        }
        list.send(above(1 << step), packed);
        list.wait(below(1 << step));
    }
    for (int d = 0; d < ranks; ++d) {
        list.copy(out(block(absolute_rank(d == 0 ? 0 : ranks - d, rank, ranks)), bytes),
                  where[static_cast<std::size_t>(d)]);
    }
    return list.finish();
}

double cost(const Problem& problem, const Parameters&, const Machine& machine) {
    const int steps = ceil_log2(problem.ranks);
    const double half = problem.ranks / 2.0;
    const double bytes = static_cast<double>(problem.bytes);
    const double copies = steps * half + problem.ranks;
    return steps * (machine.latency + 2 * machine.task + half * bytes * machine.per_byte) +
           copies * (machine.copy + bytes * machine.copy_per_byte);
}

}  // namespace

const Algorithm bruck = {
    .summary = "move blocks 1, 2, 4, ... ranks on, half of them in each step",
    .source = "Bruck et al. 1994, section 3; Kaiser et al. 2009, section 3.2",
    .applies = applies,
    .build = build,
    .cost = cost,
};

}  // namespace lapwing::alltoall
