// Broadcast in two levels: along a tree of hosts, from leader to leader, and from each leader to the ranks of
// its host. All data is sent from and received in the callers' buffers.
// Kandalla et al. 2011, "Designing Non-blocking Broadcast with Collective Offload on InfiniBand Clusters: A
// Case Study with HPL" (two-level-host, two-level-offload); Venkata et al. 2011 (Cheetah); Karonis et al.
// 2000.
//
// Long data is cut into segments, so that the levels overlap: while a leader sends one segment to the ranks
// of its host, the next is in transit. The segments may be dealt among several leaders. On the root's host
// all ranks receive from the root, and the leaders pass segments on to other hosts.
#include "collectives/two_level.hpp"
#include "collectives/rows.hpp"
#include "task/builder.hpp"

namespace lapwing::broadcast {
namespace {

using namespace lapwing::two_level;

Verdict applies(const Problem& problem, const Parameters&) {
    return has_levels(problem);
}

// One rank's part of every segment.
class Passing {
  public:
    Passing(const Problem& problem, int rank, const Parameters& values)
        : root_(problem.root),
          rank_(rank),
          seats_(problem),
          segments_(problem, values[1], values[2]),
          host_(seats_.host_of(rank)),
          at_top_(host_ == seats_.host_of(root_)),
          tree_(tree_of_hosts(seats_.hosts(), seats_.host_of(root_), host_,
                              radix_of(values[0], seats_.hosts(), segments_.count()))) {}

    int segments() const { return segments_.count(); }
    Span of(Span data, int segment) const { return segments_.of(data, segment); }

    // The rank that sends the segment to this rank, which is not the root.
    int source(int segment) const {
        if (at_top_) return root_;
        const int owner = segments_.owner(seats_, host_, segment);
        return owner != rank_ ? owner : segments_.owner(seats_, tree_.parent, segment);
    }

    void pass_on(Builder& list, int segment, Span data) const {
        const int owner = segments_.owner(seats_, host_, segment);
        // Another leader on the root's host serves other hosts.
        if (rank_ == root_ && owner != rank_) list.send(owner, data);
        if (owner == rank_) {
            for (auto child = tree_.children.rbegin(); child != tree_.children.rend(); ++child) {
                list.send(segments_.owner(seats_, *child, segment), data);
            }
        }
        if (rank_ != (at_top_ ? root_ : owner)) return;
        for (int seat = 0; seat < seats_.ranks_on(host_); ++seat) {
            const int other = seats_.rank_at(host_, seat);
            if (other != rank_ && other != owner) list.send(other, data);
        }
    }

  private:
    int root_;
    int rank_;
    Seats seats_;
    Segments segments_;
    int host_;
    bool at_top_;
    HostTree tree_;
};

List build(const Problem& problem, int rank, const Parameters& values) {
    const Passing part(problem, rank, values);
    const bool root = rank == problem.root;
    const Span data = root ? in(0, problem.bytes) : out(0, problem.bytes);

    Builder list(problem, rank);
    for (int s = 0; s < part.segments() && !root; ++s) list.recv(part.source(s), part.of(data, s));
    for (int s = 0; s < part.segments(); ++s) {
        if (!root) list.wait(part.source(s));
        part.pass_on(list, s, part.of(data, s));
    }
    return list.finish();
}

double cost(const Problem& problem, const Parameters& values, const Machine& machine) {
    if (!has_levels(problem)) return 0;
    const double bytes = static_cast<double>(problem.bytes) / Segments(problem, values[1], values[2]).count();
    return cost_of_tree(problem, values, machine,
                        intra_node_messages(machine, problem.placement->largest_host() - 1, bytes));
}

}  // namespace

const Algorithm two_level = {
    .summary = "along a tree or chain of hosts, in segments, and from the leader of each host to its ranks",
    .source = "Kandalla et al. 2011 (HPL); Venkata et al. 2011 (Cheetah); Karonis et al. 2000",
    .parameters = tree_parameters,
    .applies = applies,
    .build = build,
    .cost = cost,
    .knows_hosts = true,
};

}  // namespace lapwing::broadcast
