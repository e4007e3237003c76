// Reduce in two levels: each host's leader combines what its ranks have, and the leaders combine along a tree
// of hosts.
// Karonis et al. 2000, "Exploiting hierarchy in parallel computer networks to optimize collective operation
// performance"; Graham et al. 2011, "Cheetah: A Framework for Scalable Hierarchical Collective Operations".
//
// Long vectors are cut into segments, so that the levels overlap, and these may be dealt among several
// leaders. The top of the tree is the root's host where the operator commutes, else the first host: subtrees
// are runs of hosts, and so what comes from children stands in the order of the ranks. Where the top has
// another leader than the root, that sends the result on.
#include "collectives/two_level.hpp"
#include "collectives/reduce/combine.hpp"

namespace lapwing::reduce {
namespace {

using namespace lapwing::two_level;

int top_host(const Problem& problem) {
    return problem.ordered ? 0 : problem.placement->host_of(problem.root);
}

Verdict applies(const Problem& problem, const Parameters& values) {
    if (const Verdict levels = has_levels(problem); !levels) return levels;
    if (const Verdict order = keeps_order(problem); !order) return order;
    const int hosts = problem.placement->hosts();
    const std::int64_t radix = radix_of(values[0], hosts, Segments(problem, values[1], values[2]).count());
    const std::int64_t children = radix == 1 ? 1 : levels_of_tree(hosts, radix) * (radix - 1);
    return within_scratch(problem.bytes, static_cast<std::uint64_t>(problem.placement->largest_host() + 3 +
                                                                    std::min<std::int64_t>(children, hosts)));
}

List build(const Problem& problem, int rank, const Parameters& values) {
    const Seats seats(problem);
    const Segments segments(problem, values[1], values[2]);
    const int count = segments.count();
    const int host = seats.host_of(rank);
    const int top = top_host(problem);
    const bool root = rank == problem.root;
    const HostTree tree = tree_of_hosts(seats.hosts(), top, host, radix_of(values[0], seats.hosts(), count));
    const Span own = input(problem, rank, 0, problem.bytes);
    const Span result = root ? out(0, problem.bytes) : Span{};
    const std::span<const int> local = problem.placement->ranks_of(host);
    const auto owns = [&](int s) { return segments.owner(seats, host, s) == rank; };
    // The result comes by a detour where another rank has it.
    const auto detour = [&](int s) { return root && segments.owner(seats, top, s) != rank; };
    const auto part_of = [&](Span vector, int s) {
        return vector.length == 0 ? Span{} : segments.of(vector, s);
    };

    std::size_t owned = 0;
    for (int s = 0; s < count; ++s) owned += owns(s) ? 1 : 0;
    Builder list(problem, rank,
                 3 * (static_cast<std::size_t>(count) + owned * (local.size() + tree.children.size())));
    std::vector<Contributions> contributions;  // of the segments that this rank owns, in order
    for (int s = 0; s < count; ++s) {
        if (!owns(s)) continue;
        const auto below = static_cast<std::size_t>(problem.placement->place_on_host(rank));
        contributions.emplace_back(list, problem.ordered, segments.of(own, s),
                                   detour(s) ? Span{} : part_of(result, s), below,
                                   local.size() - 1 + tree.children.size());
    }
    // Between two ranks first what they have themselves travels, then what is combined.
    owned = 0;
    for (int s = 0; s < count; ++s) {
        if (!owns(s)) continue;
        std::size_t other = 0;
        for (const int r : local) {
            if (r != rank) list.recv(r, contributions[owned].of(other++));
        }
        ++owned;
    }
    owned = 0;
    for (int s = 0; s < count; ++s) {
        if (!owns(s)) continue;
        std::size_t other = local.size() - 1;
        for (const int child : tree.children) {
            list.recv(segments.owner(seats, child, s), contributions[owned].of(other++));
        }
        ++owned;
    }
    std::vector<Span> arrivals(static_cast<std::size_t>(root ? count : 0));
    for (int s = 0; s < count && root; ++s) {
        if (!detour(s)) continue;
        const Span target = segments.of(result, s);
        Span& arrival = arrivals[static_cast<std::size_t>(s)];
        arrival = own.space == Space::in ? target : list.scratch(target.length);
        list.recv(segments.owner(seats, top, s), arrival);
    }

    for (int s = 0; s < count; ++s) {
        if (owns(s)) continue;
        list.send(segments.owner(seats, host, s), sendable(list, segments.of(own, s), part_of(result, s)));
    }
    owned = 0;
    for (int s = 0; s < count; ++s) {
        if (!owns(s)) continue;
        for (const int r : local) {
            if (r != rank) list.wait(r);
        }
        for (const int child : tree.children) list.wait(segments.owner(seats, child, s));
        const Span combined = contributions[owned++].combine(list);
        if (host != top) {
            list.send(segments.owner(seats, tree.parent, s), sendable(list, combined, part_of(result, s)));
        } else if (!root) {
            list.send(problem.root, combined);
        } else {
            list.copy(segments.of(result, s), combined);
        }
    }
    for (int s = 0; s < count && root; ++s) {
        if (detour(s)) list.wait(segments.owner(seats, top, s));
    }
    for (int s = 0; s < count && root; ++s) {
        if (detour(s)) list.copy(segments.of(result, s), arrivals[static_cast<std::size_t>(s)]);
    }
    return list.finish();
}

double cost(const Problem& problem, const Parameters& values, const Machine& machine) {
    if (!has_levels(problem)) return 0;
    const double bytes = static_cast<double>(problem.bytes) / Segments(problem, values[1], values[2]).count();
    const double others = problem.placement->largest_host() - 1;
    const double detour = top_host(problem) == problem.placement->host_of(problem.root)
                              ? 0
                              : inter_node_messages(machine, 1, static_cast<double>(problem.bytes));
    const double combination = others * bytes * machine.copy_per_byte;
    return cost_of_tree(problem, values, machine, intra_node_messages(machine, others, bytes) + combination) +
           detour;
}

}  // namespace

extern const Algorithm two_level;
const Algorithm two_level = {
    .collective = Collective::reduce,
    .name = "two_level",
    .summary = "the leader of each host combines what its ranks have, in segments, then a tree of hosts does",
    .source = "Karonis et al. 2000; Graham et al. 2011 (Cheetah)",
    .parameters = tree_parameters,
    .applies = applies,
    .build = build,
    .cost = cost,
    .knows_hosts = true,
};

}  // namespace lapwing::reduce
