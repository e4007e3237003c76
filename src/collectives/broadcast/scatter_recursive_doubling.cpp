// Broadcast of large data: scatter along a binomial tree, then allgather by recursive doubling.
// Kandalla et al. 2011, "Designing Non-blocking Broadcast with Collective Offload on InfiniBand Clusters:
// A Case Study with HPL" (large messages); Thakur, Rabenseifner, Gropp 2005, section 4.2.
//
// As in the recursive doubling barrier, ranks beyond the largest power of two are extra: they receive all
// data at the end. In step k a rank and the one 2^k away exchange the 2^k chunks of their halves; chunks that
// the receiver holds already from the scatter are not sent again.
#include "collectives/broadcast/scatter_tree.hpp"
#include "collectives/rows.hpp"

namespace lapwing::broadcast {
namespace {

List build(const Problem& problem, int rank, const Parameters&) {
    const int core = floor_power_of_two(problem.ranks);
    const int relative = relative_rank(rank, problem.root, problem.ranks);
    const auto absolute = [&](int r) { return absolute_rank(r, problem.root, problem.ranks); };

    if (relative >= core) {
        const int partner = absolute(relative - core);
        Builder extra(problem, rank, 2);
        extra.recv(partner, out(0, problem.bytes));
        extra.wait(partner);
        return extra.finish();
    }

    const ScatterTree tree(problem.bytes, core, relative);
    // The chunks that `receiver` gets from the rank `distance` away: that rank's whole half or none.
    const auto moved = [&](int receiver, int distance) {
        const int begin = (receiver ^ distance) & ~(distance - 1);
        return tree.holds(receiver, begin) ? Span{} : tree.chunks(begin, begin + distance);
    };

    Builder list(problem, rank, 5 * static_cast<std::uint64_t>(ceil_log2(core)) + 3);
    tree.offer(list, absolute);
    for (int distance = 1; distance < core; distance *= 2) {
        const Span received = moved(relative, distance);
        if (received.length > 0) list.recv(absolute(relative ^ distance), received);
    }
    tree.pass_on(list, absolute);
    for (int distance = 1; distance < core; distance *= 2) {
        const Span sent = moved(relative ^ distance, distance);
        if (sent.length > 0) list.send(absolute(relative ^ distance), sent);
        if (moved(relative, distance).length > 0) list.wait(absolute(relative ^ distance));
    }
    if (relative + core < problem.ranks) list.send(absolute(relative + core), tree.chunks(0, core));
    return list.finish();
}

double cost(const Problem& problem, const Parameters&, const Machine& machine) {
    const int core = floor_power_of_two(problem.ranks);
    const double bytes = static_cast<double>(problem.bytes);
    const double half =
        ceil_log2(core) * (machine.latency + 2 * machine.task) + bytes * (core - 1) / core * machine.per_byte;
    const double extra =
        core < problem.ranks ? machine.latency + 2 * machine.task + bytes * machine.per_byte : 0;
    return 2 * half + extra;
}

}  // namespace

const Algorithm scatter_recursive_doubling = {
    .summary = "scatter chunks along a binomial tree, then exchange them with the rank 1, 2, 4, ... away",
    .source = "Kandalla et al. 2011 (HPL), large messages",
    .build = build,
    .cost = cost,
    .paths = Paths::shared,
};

}  // namespace lapwing::broadcast
