// Barrier in two levels: the ranks of a host signal their leader, the leaders synchronize by dissemination,
// and each leader signals the ranks of its host. Graham et al. 2011, "Cheetah: A Framework for Scalable
// Hierarchical Collective Operations"; between the leaders Hensgen, Finkel, Manber 1988, section 3.
#include "collectives/two_level.hpp"
#include "collectives/arithmetic.hpp"
#include "collectives/rows.hpp"
#include "task/builder.hpp"

namespace lapwing::barrier {
namespace {

using two_level::Seats;

Verdict applies(const Problem& problem, const Parameters&) {
    return two_level::has_levels(problem);
}

List build(const Problem& problem, int rank, const Parameters&) {
    const Seats seats(problem);
    const int hosts = seats.hosts();
    const int host = seats.host_of(rank);
    const int leader = seats.rank_at(host, 0);
    if (rank != leader) {
        Builder list(problem, rank, 3);
        list.recv(leader);
        list.send(leader);
        list.wait(leader);
        return list.finish();
    }
    const int local = seats.ranks_on(host);
    const auto leader_after = [&](int distance) {
        return seats.rank_at(seats.host_after(host, distance), 0);
    };

    Builder list(problem, rank, 3 * static_cast<std::uint64_t>(local + ceil_log2(hosts)));
    for (int seat = 1; seat < local; ++seat) list.recv(seats.rank_at(host, seat));
    for (int distance = 1; distance < hosts; distance *= 2) list.recv(leader_after(-distance));
    for (int seat = 1; seat < local; ++seat) list.wait(seats.rank_at(host, seat));
    for (int distance = 1; distance < hosts; distance *= 2) {
        list.send(leader_after(distance));
        list.wait(leader_after(-distance));
    }
    for (int seat = 1; seat < local; ++seat) list.send(seats.rank_at(host, seat));
    return list.finish();
}

double cost(const Problem& problem, const Parameters&, const Machine& machine) {
    if (!two_level::has_levels(problem)) return 0;
    const Placement& placement = *problem.placement;
    return ceil_log2(placement.hosts()) * two_level::inter_node_messages(machine, 1, 0) +
           2 * two_level::intra_node_messages(machine, placement.largest_host() - 1, 0);
}

}  // namespace

const Algorithm two_level = {
    .summary = "signal the host's leader; the leaders synchronize by dissemination, and signal back",
    .source = "Graham et al. 2011 (Cheetah); Hensgen, Finkel, Manber 1988",
    .applies = applies,
    .build = build,
    .cost = cost,
    .knows_hosts = true,
};

}  // namespace lapwing::barrier
