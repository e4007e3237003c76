// Gather in two levels: a leader collects the blocks of its host and sends them to the root as one message.
// Karonis et al. 2000, "Exploiting hierarchy in parallel computer networks to optimize collective operation
// performance"; Graham et al. 2011 (Cheetah).
//
// The ranks on the root's host send to the root directly. Another host may have several leaders, each for a
// run of its ranks.
#include "collectives/two_level.hpp"
#include "collectives/blocks.hpp"
#include "collectives/rows.hpp"
#include "collectives/scratch.hpp"
#include "task/builder.hpp"

namespace lapwing::gather {
namespace {

using namespace lapwing::two_level;

constexpr Parameter parameters[] = {
    {"leaders", "ranks of each host that collect blocks and send them to the root", 1, 1, 1024}};

Verdict applies(const Problem& problem, const Parameters&) {
    if (const Verdict levels = has_levels(problem); !levels) return levels;
    // Scratch for all blocks, if they cannot be received where they belong.
    return within_scratch(problem.bytes, static_cast<std::uint64_t>(problem.ranks));
}

SeatGroups groups_of(const Problem& problem, int host, const Parameters& values) {
    return {static_cast<int>(problem.placement->ranks_of(host).size()), values[0]};
}

// The ranks of one message, in the order of its blocks.
std::span<const int> ranks_of(const Problem& problem, int host, const SeatGroups& groups, int group) {
    return problem.placement->ranks_of(host).subspan(static_cast<std::size_t>(groups.begin(group)),
                                                     static_cast<std::size_t>(groups.size(group)));
}

bool is_run(std::span<const int> ranks) {
    for (std::size_t i = 1; i < ranks.size(); ++i) {
        if (ranks[i] != ranks[i - 1] + 1) return false;
    }
    return true;
}

List build_leader(const Problem& problem, int rank, std::span<const int> ranks) {
    const Span own = block_to(problem, rank, problem.root);
    Builder list(problem, rank, 2 * ranks.size() + 1);
    if (ranks.size() == 1) {
        list.send(problem.root, own);
        return list.finish();
    }
    const Span message = list.scratch(problem.bytes * ranks.size());
    for (std::size_t i = 1; i < ranks.size(); ++i) {
        list.recv(ranks[i], message.part(problem.bytes * i, problem.bytes));
    }
    list.copy(message.part(0, problem.bytes), own);
    for (std::size_t i = 1; i < ranks.size(); ++i) list.wait(ranks[i]);
    list.send(problem.root, message);
    return list.finish();
}

List build_root(const Problem& problem, const Parameters& values) {
    const int root = problem.root;
    const Placement& placement = *problem.placement;
    const int own_host = placement.host_of(root);
    Builder list(problem, root);
    struct Arrival {
        std::span<const int> ranks;
        Span span;
        bool in_place;  // received where its blocks belong
    };
    std::vector<Arrival> arrivals;
    for (int d = 1; d < placement.hosts(); ++d) {
        const int host = (own_host + d) % placement.hosts();
        const SeatGroups groups = groups_of(problem, host, values);
        for (int group = 0; group < groups.count(); ++group) {
            const std::span<const int> ranks = ranks_of(problem, host, groups, group);
            const std::uint64_t bytes = problem.bytes * ranks.size();
            const bool run = placement.has_runs() || is_run(ranks);
            const Span target = run ? out(problem.bytes * static_cast<std::uint64_t>(ranks.front()), bytes)
                                    : list.scratch(bytes);
            arrivals.push_back({ranks, target, run});
        }
    }
    for (const Arrival& arrival : arrivals) list.recv(arrival.ranks.front(), arrival.span);
    for (const int r : placement.ranks_of(own_host)) {
        if (r != root) list.recv(r, block_from(problem, root, r));
    }
    list.copy(block_from(problem, root, root), block_to(problem, root, root));
    for (const int r : placement.ranks_of(own_host)) {
        if (r != root) list.wait(r);
    }
    for (const Arrival& arrival : arrivals) list.wait(arrival.ranks.front());
    for (const Arrival& arrival : arrivals) {
        if (arrival.in_place) continue;
        for (std::size_t i = 0; i < arrival.ranks.size(); ++i) {
            list.copy(block_from(problem, root, arrival.ranks[i]),
                      arrival.span.part(problem.bytes * i, problem.bytes));
        }
    }
    return list.finish();
}

List build(const Problem& problem, int rank, const Parameters& values) {
    if (rank == problem.root) return build_root(problem, values);
    const Placement& placement = *problem.placement;
    const int host = placement.host_of(rank);
    int collector = problem.root;
    if (host != placement.host_of(problem.root)) {
        const SeatGroups groups = groups_of(problem, host, values);
        const auto ranks = ranks_of(problem, host, groups, groups.of_seat(placement.place_on_host(rank)));
        if (ranks.front() == rank) return build_leader(problem, rank, ranks);
        collector = ranks.front();
    }
    Builder list(problem, rank, 1);
    list.send(collector, block_to(problem, rank, problem.root));
    return list.finish();
}

double cost(const Problem& problem, const Parameters& values, const Machine& machine) {
    if (!has_levels(problem)) return 0;
    const Placement& placement = *problem.placement;
    const double bytes = static_cast<double>(problem.bytes);
    const double local = placement.largest_host();
    const double leaders = std::min(local, static_cast<double>(values[0]));
    const double collected = std::max(0.0, local / leaders - 1);
    const double inter_node = problem.ranks - local;
    return intra_node_messages(machine, collected, bytes) + bytes * machine.copy_per_byte + machine.latency +
           (placement.hosts() - 1) * leaders * machine.task + inter_node * bytes * machine.per_byte +
           (local - 1) * (machine.intra_node_task + bytes * machine.intra_node_per_byte) +
           (placement.has_runs() ? 0 : inter_node * (machine.copy + bytes * machine.copy_per_byte));
}

}  // namespace

const Algorithm two_level = {
    .summary = "leaders collect the blocks of their host and send them to the root as one message",
    .source = "Karonis et al. 2000; Graham et al. 2011 (Cheetah)",
    .parameters = parameters,
    .applies = applies,
    .build = build,
    .cost = cost,
    .knows_hosts = true,
};

}  // namespace lapwing::gather
