#include "collectives/levels.hpp"

#include <algorithm>

#include "collectives/arithmetic.hpp"
#include "collectives/scratch.hpp"

namespace lapwing::levels {
namespace {

// The base of the trees of one level. Inside hosts, where a message costs little, trees have fewer steps than
// chains: in simulations of hosts with 128 ranks they were faster in most cases up to 1 MiB.
std::int64_t radix_of(std::int64_t k, int level, int count, int segments) {
    if (k == 0 && level > 0) return 4;
    return two_level::radix_of(k, count, segments);
}

// The groups of one level that have one parent; ranks themselves are the groups of the last level.
class Siblings {
  public:
    // Those that contain `rank` in their parent.
    Siblings(const Placement& placement, int level, int rank) : placement_(placement), level_(level) {
        const std::span<const int> ranks =
            level == 0 ? placement.order()
                       : placement.ranks_of(level - 1, placement.group_of(level - 1, rank));
        first_ = number_of(ranks.front());
        count_ = number_of(ranks.back()) - first_ + 1;
    }

    int count() const { return count_; }
    int index_of(int rank) const { return number_of(rank) - first_; }
    bool has(int rank) const { return index_of(rank) >= 0 && index_of(rank) < count_; }
    int leader(int index, int top) const {
        const int number = first_ + index;
        if (number_of(top) == number) return top;
        return level_ == placement_.levels() ? placement_.order()[static_cast<std::size_t>(number)]
                                             : placement_.ranks_of(level_, number).front();
    }

  private:
    int number_of(int rank) const {
        return level_ == placement_.levels() ? placement_.place(rank) : placement_.group_of(level_, rank);
    }

    const Placement& placement_;
    int level_;
    int first_ = 0;
    int count_ = 0;
};

// Counts the steps from the top of a tree by two_level::tree_of_hosts(), where `relative` is 0.
int depth_in_tree(int relative, std::int64_t radix) {
    if (radix == 1) return relative;
    int depth = 0;
    for (std::int64_t rest = relative; rest > 0; rest /= radix) depth += rest % radix != 0 ? 1 : 0;
    return depth;
}

// How the groups of a level with one parent form a tree, where a parent has most of them.
struct Shape {
    int depth;     // of the tree
    int width;     // children at one distance
    int children;  // of the top
};
Shape shape_of(const Placement& placement, int level, std::int64_t k, int segments) {
    const int count = placement.width(level);
    const std::int64_t radix = radix_of(k, level, count, segments);
    const int depth = two_level::levels_of_tree(count, radix);
    const auto width = static_cast<int>(std::clamp<std::int64_t>(radix - 1, 1, std::max(count - 1, 1)));
    const std::int64_t children = radix == 1 ? 1 : std::int64_t{depth} * width;
    return {depth, width, static_cast<int>(std::min<std::int64_t>(children, count - 1))};
}

}  // namespace

Verdict has_levels(const Problem& problem) {
    const Placement* placement = problem.placement.get();
    if (placement == nullptr || placement->levels() == 1) return two_level::has_levels(problem);
    return Verdict::yes();
}

Verdict applies_to_reduction(const Problem& problem, const Parameters& values) {
    if (const Verdict levels = has_levels(problem); !levels) return levels;
    if (const Verdict order = two_level::keeps_order(problem); !order) return order;
    const int segments = two_level::Segments(problem, values[1], 1).count();
    return within_scratch(problem.bytes, max_children(*problem.placement, values[0], segments) + 3);
}

Tree tree_of(const Placement& placement, int top, int rank, std::int64_t k, int segments) {
    Tree tree;
    for (int level = placement.levels(); level >= 0; --level) {
        const Siblings groups(placement, level, rank);
        const int own = groups.index_of(rank);
        const int first = groups.has(top) ? groups.index_of(top) : 0;
        const std::int64_t radix = radix_of(k, level, groups.count(), segments);
        tree.depth += depth_in_tree(relative_rank(own, first, groups.count()), radix);
        if (tree.parent >= 0) continue;
        // The rank leads all its groups inside this level.
        const auto [parent, children] = two_level::tree_of_hosts(groups.count(), first, own, radix);
        for (const int child : children) tree.children.push_back(groups.leader(child, top));
        if (parent >= 0) tree.parent = groups.leader(parent, top);
    }
    return tree;
}

int top_of(const Problem& problem) {
    return problem.ordered || !has_root(problem.collective) ? problem.placement->order().front()
                                                            : problem.root;
}

std::uint64_t max_children(const Placement& placement, std::int64_t k, int segments) {
    std::uint64_t children = 0;
    for (int level = 0; level <= placement.levels(); ++level)
        children += static_cast<std::uint64_t>(shape_of(placement, level, k, segments).children);
    return children;
}

double cost_of_tree(const Problem& problem, const Parameters& values, const Machine& machine, bool combined) {
    const Placement& placement = *problem.placement;
    const int count = two_level::Segments(problem, values[1], 1).count();
    const double bytes = static_cast<double>(problem.bytes) / count;
    // In a group on one host, the constants of all messages are those inside a host.
    const bool one_host = placement.hosts() == 1;
    double path = 0;
    double each = 0;  // the top serves all its children for one segment after the other
    for (int level = 0; level <= placement.levels(); ++level) {
        const Shape shape = shape_of(placement, level, values[0], count);
        const bool intra_node = level > 0 && !one_host;
        const double latency = intra_node ? machine.intra_node_latency : machine.latency;
        const double task = intra_node ? machine.intra_node_task : machine.task;
        const double per_byte = (intra_node ? machine.intra_node_per_byte : machine.per_byte) +
                                (combined ? machine.copy_per_byte : 0);
        path += shape.depth * (latency + shape.width * (2 * task + bytes * per_byte));
        each += shape.children * (2 * task + bytes * per_byte);
    }
    return path + (count - 1) * each;
}

}  // namespace lapwing::levels
