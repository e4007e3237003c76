#include "collectives/gather/tree.hpp"

#include "collectives/arithmetic.hpp"
#include "task/builder.hpp"

namespace lapwing::gather {
namespace {

std::uint64_t blocks(int count, const Problem& problem) {
    return static_cast<std::uint64_t>(count) * problem.bytes;
}

List build_root(const Problem& problem, const TreeNode& node) {
    const int root = problem.root;
    const auto absolute = [&](int place) { return absolute_rank(place, node.first, problem.ranks); };
    const auto place_of = [&](Subtree run) {
        return out(blocks(absolute(run.begin), problem), blocks(run.size(), problem));
    };
    Builder list(problem, root, 4 * node.children.size() + 3);
    for (const Subtree& child : node.children) {
        for (const Subtree& run : runs_between(problem, node.first, node.own.head, child)) {
            list.recv(absolute(child.head), place_of(run));
        }
    }
    list.copy(place_of({node.own.head, node.own.head + 1}), input(problem, root, 0, problem.bytes));
    for (const Subtree& child : node.children) {
        list.wait(absolute(child.head), runs_between(problem, node.first, node.own.head, child).count);
    }
    return list.finish();
}

}  // namespace

List build_along_tree(const Problem& problem, int rank, const TreeNode& node) {
    if (node.parent < 0) return build_root(problem, node);

    const auto absolute = [&](int place) { return absolute_rank(place, node.first, problem.ranks); };
    Builder list(problem, rank, 2 * node.children.size() + 3);
    Span collected = in(0, problem.bytes);
    const auto part = [&](Subtree run) {
        return collected.part(blocks(run.begin - node.own.begin, problem), blocks(run.size(), problem));
    };
    if (!node.children.empty()) {
        collected = list.scratch(blocks(node.own.size(), problem));
        for (const Subtree& child : node.children) list.recv(absolute(child.head), part(child));
        list.copy(part({node.own.head, node.own.head + 1}), in(0, problem.bytes));
        for (const Subtree& child : node.children) list.wait(absolute(child.head));
    }
    for (const Subtree& run : runs_between(problem, node.first, node.parent, node.own)) {
        list.send(absolute(node.parent), part(run));
    }
    return list.finish();
}

}  // namespace lapwing::gather
