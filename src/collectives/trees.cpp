#include "collectives/trees.hpp"

#include <algorithm>

#include "collectives/arithmetic.hpp"

namespace lapwing {

TreeNode binary_node(int ranks, int place) {
    const auto middle = [](Subtree run) { return run.begin + 1 + run.size() / 2; };
    TreeNode node;
    node.own = {0, ranks};
    while (node.own.begin != place) {
        node.parent = node.own.begin;
        const int half = middle(node.own);
        node.own = place < half ? Subtree{node.own.begin + 1, half} : Subtree{half, node.own.end};
    }
    const int half = middle(node.own);
    for (const Subtree& child : {Subtree{place + 1, half}, Subtree{half, node.own.end}}) {
        if (child.begin < child.end) node.children.push_back(child);
    }
    return node;
}

TreeNode binomial_node(int ranks, int place) {
    const auto run_from = [ranks](int head) {
        return Subtree{head, head == 0 ? ranks : std::min(ranks, head + lowest_bit(head))};
    };
    TreeNode node;
    node.own = run_from(place);
    if (place != 0) node.parent = place - lowest_bit(place);
    for (int distance = 1; distance < node.own.size(); distance *= 2)
        node.children.push_back(run_from(place + distance));
    return node;
}

TreeOrder::TreeOrder(const Problem& problem, Messages messages)
    : path_(problem.placement != nullptr && !problem.placement->hosts_in_rank_order()
                ? problem.placement.get()
                : nullptr),
      against_(messages == Messages::to_root),
      ranks_(problem.ranks),
      root_(problem.root) {}

int TreeOrder::index(int rank) const {
    if (path_ == nullptr) return rank;
    return against_ ? ranks_ - 1 - path_->place(rank) : path_->place(rank);
}

int TreeOrder::rank(int index) const {
    if (path_ == nullptr) return index;
    return path_->order()[static_cast<std::size_t>(against_ ? ranks_ - 1 - index : index)];
}

Runs runs_between(const TreeOrder& order, int parent, Subtree child) {
    const int wrap = order.ranks() - order.root();  // the place of rank 0, if it is not the root
    if (!order.is_path() && parent == 0 && child.begin < wrap && wrap < child.end) {
        return {{{child.begin, wrap}, {wrap, child.end}}, 2};
    }
    return {{child, {}}, 1};
}

double cost_along_tree(const Problem& problem, const Parameters&, const Machine& machine) {
    const double bytes = static_cast<double>(problem.bytes);
    return ceil_log2(problem.ranks) * (machine.latency + 2 * machine.task) +
           (problem.ranks - 1) * bytes * machine.per_byte + bytes * machine.copy_per_byte;
}

}  // namespace lapwing
