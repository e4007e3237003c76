#include "collectives/trees.hpp"

#include <algorithm>

#include "collectives/arithmetic.hpp"

namespace lapwing {
namespace {

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

struct Halves {
    Subtree kept;   // has the head
    Subtree given;  // its own head has a third of this half between itself and the other
};

Halves halves_of(Subtree run) {
    const int given = run.size() / 2;
    const int kept = run.size() - given;
    if (run.head - run.begin < kept) {
        const int middle = run.begin + kept;
        return {{run.begin, middle, run.head}, {middle, run.end, middle + given / 3}};
    }
    const int middle = run.end - kept;
    return {{middle, run.end, run.head}, {run.begin, middle, middle - 1 - given / 3}};
}

TreeNode bine_node(int ranks, int place) {
    Subtree run = {0, ranks, place_of_root(Shape::bine, ranks)};
    TreeNode node;
    node.own = run;
    while (run.size() > 1) {
        const auto [kept, given] = halves_of(run);
        if (place >= given.begin && place < given.end) {
            node.parent = run.head;
            node.own = given;
            node.children.clear();
            run = given;
        } else {
            node.children.push_back(given);
            run = kept;
        }
    }
    std::reverse(node.children.begin(), node.children.end());
    return node;
}

}  // namespace

int place_of_root(Shape shape, int ranks) {
    if (shape != Shape::bine) return 0;
    // As in the paper, whose root is 0 in the ranks -2, ..., 5 of eight and in -10, ..., 5 of sixteen.
    const int third = ranks / 3;
    return ceil_log2(ranks) % 2 == 0 ? ranks - 1 - third : third;
}

TreeNode tree_node(Shape shape, int ranks, int root, int rank) {
    const int first = relative_rank(root, place_of_root(shape, ranks), ranks);
    const auto node_at = shape == Shape::binary     ? binary_node
                         : shape == Shape::binomial ? binomial_node
                                                    : bine_node;
    TreeNode node = node_at(ranks, relative_rank(rank, first, ranks));
    node.first = first;
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

Runs runs_between(const TreeOrder& order, int first, int parent, Subtree child) {
    const bool with_root = !order.is_path() && absolute_rank(parent, first, order.ranks()) == order.root();
    const int wrap = order.ranks() - first;  // the place of rank 0, if it is not the first
    if (with_root && child.begin < wrap && wrap < child.end) {
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
