#include "collectives/allgather/any_lengths.hpp"

#include <algorithm>
#include <vector>

#include "collectives/alltoall/exchange.hpp"
#include "collectives/arithmetic.hpp"
#include "collectives/blocks.hpp"
#include "collectives/ring.hpp"
#include "task/builder.hpp"

namespace lapwing::allgather {
namespace {

constexpr std::uint64_t max_scratch = std::uint64_t{1} << 30;

// Equal at all ranks.
struct Lengths {
    std::uint64_t all = 0;
    std::uint64_t longest = 0;
};

Lengths lengths_of(const Problem& problem) {
    if (!has_parts(problem.collective)) {
        return {static_cast<std::uint64_t>(problem.ranks) * problem.bytes, problem.bytes};
    }
    Lengths lengths;
    for (const Part& part : problem.parts_of(0).receives) {
        lengths.all += part.bytes;
        lengths.longest = std::max(lengths.longest, part.bytes);
    }
    return lengths;
}

}  // namespace

List build_ring(const Problem& problem, int rank) {
    const int ranks = problem.ranks;
    const Ring ring(problem, rank);
    const int above = ring.above(1);
    const int below = ring.below(1);
    // What arrives in a step, which is what is sent in the next.
    const auto block = [&](int step) { return block_from(problem, rank, ring.below(step)); };

    Builder list(problem, rank, 3 * static_cast<std::uint64_t>(ranks));
    for (int step = 1; step < ranks; ++step) {
        if (block(step).length > 0) list.recv(below, block(step));
    }
    const Span own = block_to(problem, rank, rank);
    if (ranks > 1 && own.length > 0) list.send(above, own);
    list.copy(block(0), own);
    for (int step = 1; step < ranks; ++step) {
        if (block(step).length == 0) continue;
        list.wait(below);
        if (step + 1 < ranks) list.send(above, block(step));
    }
    return list.finish();
}

double cost_of_ring(const Problem& problem, const Machine& machine) {
    const double longest = static_cast<double>(lengths_of(problem).longest);
    return (problem.ranks - 1) * (machine.latency + 2 * machine.task + longest * machine.per_byte);
}

Verdict bruck_applies(const Problem& problem) {
    if (lengths_of(problem).all > max_scratch)
        return Verdict::no("all blocks together need more than 1 GiB of scratch");
    return Verdict::yes();
}

List build_bruck(const Problem& problem, int rank) {
    const int ranks = problem.ranks;
    const bool one_length = !has_parts(problem.collective);
    const auto above = [&](int distance) { return absolute_rank(distance, rank, ranks); };
    const auto below = [&](int distance) { return absolute_rank(ranks - distance, rank, ranks); };

    // Where the block of the rank so far above begins, in the order in which blocks arrive.
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
    // Blocks of one length stand side by side in out, too: up to the last rank, and again from rank 0 on.
    for (int d = 1, end = 0; d < ranks; d = end) {
        end = !one_length ? d + 1 : d < ranks - rank ? ranks - rank : ranks;
        const Span arrived = blocks(d, end);
        list.copy(out(block_from(problem, rank, above(d)).offset, arrived.length), arrived);
    }
    return list.finish();
}

double cost_of_bruck(const Problem& problem, const Machine& machine) {
    const Lengths lengths = lengths_of(problem);
    const double all = static_cast<double>(lengths.all);
    const double longest = static_cast<double>(lengths.longest);
    double moved = 0;
    for (int step = 1; step < problem.ranks; step *= 2) {
        moved += std::min(all, longest * std::min(step, problem.ranks - step));
    }
    const double copies = has_parts(problem.collective) ? problem.ranks + 1 : 3;
    return ceil_log2(problem.ranks) * (machine.latency + 2 * machine.task) + moved * machine.per_byte +
           copies * machine.copy + (all + longest) * machine.copy_per_byte;
}

double cost_of_flat(const Problem& problem, const Machine& machine) {
    return alltoall::cost_of_flat(problem.ranks, static_cast<double>(lengths_of(problem).longest), machine);
}

}  // namespace lapwing::allgather
