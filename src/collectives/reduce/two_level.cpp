// Reduce in two levels: the leader of each host combines the vectors of its ranks, and the leaders combine
// their results along a tree of hosts.
// Karonis et al. 2000, "Exploiting hierarchy in parallel computer networks to optimize collective operation
// performance"; Graham et al. 2011, "Cheetah: A Framework for Scalable Hierarchical Collective Operations".
//
// Long vectors are cut into segments, so that the levels overlap. The segments may be dealt among several
// leaders. The top of the tree is the root's host if the operator commutes, else the first host: subtrees are
// runs of hosts, and the vectors of the children are therefore in rank order. A leader of the top host other
// than the root sends its segments to the root: a detour.
#include "collectives/two_level.hpp"
#include "collectives/reduction/combine.hpp"

namespace lapwing::reduce {
namespace {

using namespace reduction;

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

// A segment that this rank combines for its host.
struct Owned {
    int segment;
    Contributions contributions;  // of the other ranks of the host, then of the child hosts
};

List build(const Problem& problem, int rank, const Parameters& values) {
    const Seats seats(problem);
    const Segments segments(problem, values[1], values[2]);
    const int host = seats.host_of(rank);
    const int top = top_host(problem);
    const bool root = rank == problem.root;
    const HostTree tree =
        tree_of_hosts(seats.hosts(), top, host, radix_of(values[0], seats.hosts(), segments.count()));
    const Span own = input(problem, rank, 0, problem.bytes);
    const Span result = root ? out(0, problem.bytes) : Span{};
    const auto result_of = [&](int s) { return root ? segments.of(result, s) : Span{}; };
    const auto leader = [&](int on_host, int s) { return segments.owner(seats, on_host, s); };
    std::vector<int> others;  // on this host
    for (const int r : problem.placement->ranks_of(host)) {
        if (r != rank) others.push_back(r);
    }

    std::vector<int> combined_here;
    std::vector<int> sent;
    std::vector<int> detours;  // segments whose result another rank sends to the root
    for (int s = 0; s < segments.count(); ++s) {
        (leader(host, s) == rank ? combined_here : sent).push_back(s);
        if (root && leader(top, s) != rank) detours.push_back(s);
    }
    Builder list(problem, rank);
    std::vector<Owned> owned;
    for (const int s : combined_here) {
        const bool detour = root && leader(top, s) != rank;
        const auto below = static_cast<std::size_t>(problem.placement->place_on_host(rank));
        owned.push_back(
            {s, Contributions(list, problem.ordered, segments.of(own, s), detour ? Span{} : result_of(s),
                              below, others.size() + tree.children.size())});
    }
    // Between two ranks, all inputs travel before all combined segments.
    for (const Owned& at : owned) {
        for (std::size_t i = 0; i < others.size(); ++i) list.recv(others[i], at.contributions.of(i));
    }
    for (const Owned& at : owned) {
        for (std::size_t i = 0; i < tree.children.size(); ++i) {
            list.recv(leader(tree.children[i], at.segment), at.contributions.of(others.size() + i));
        }
    }
    std::vector<Span> arrivals;  // of detours
    for (const int s : detours) {
        const Span target = result_of(s);
        arrivals.push_back(own.space == Space::in ? target : list.scratch(target.length));
        list.recv(leader(top, s), arrivals.back());
    }

    for (const int s : sent) {
        list.send(leader(host, s), sendable(list, segments.of(own, s), result_of(s)));
    }
    for (Owned& at : owned) {
        const int s = at.segment;
        for (const int r : others) list.wait(r);
        for (const int child : tree.children) list.wait(leader(child, s));
        const Span combined = at.contributions.combine(list);
        if (host != top) {
            list.send(leader(tree.parent, s), sendable(list, combined, result_of(s)));
        } else if (!root) {
            list.send(problem.root, combined);
        } else {
            list.copy(result_of(s), combined);
        }
    }
    for (const int s : detours) list.wait(leader(top, s));
    for (std::size_t i = 0; i < detours.size(); ++i) list.copy(result_of(detours[i]), arrivals[i]);
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

const Algorithm two_level = {
    .summary = "leaders combine inside each host, in segments, then along a tree of hosts",
    .source = "Karonis et al. 2000; Graham et al. 2011 (Cheetah)",
    .parameters = tree_parameters,
    .applies = applies,
    .build = build,
    .cost = cost,
    .knows_hosts = true,
};

}  // namespace lapwing::reduce
