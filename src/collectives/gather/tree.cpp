#include "collectives/gather/tree.hpp"

#include <algorithm>
#include <array>

#include "collectives/arithmetic.hpp"
#include "task/builder.hpp"

namespace lapwing::gather {
namespace {

// The one or two runs of a subtree that do not wrap around the last rank.
struct Runs {
    std::array<Subtree, 2> run;
    int count;
};
Runs runs_of(Subtree subtree, const Problem& problem) {
    const int wrap = problem.ranks - problem.root;  // the first relative rank that is less than the root
    if (subtree.begin < wrap && wrap < subtree.end)
        return {{{{subtree.begin, wrap}, {wrap, subtree.end}}}, 2};
    return {{{subtree, {}}}, 1};
}

std::uint64_t blocks(int count, const Problem& problem) {
    return static_cast<std::uint64_t>(count) * problem.bytes;
}

List build_root(const Problem& problem, const Place& place) {
    const int root = problem.root;
    const auto place_of = [&](Subtree run) {
        return out(blocks(absolute_rank(run.begin, root, problem.ranks), problem),
                   blocks(run.end - run.begin, problem));
    };
    Builder list(problem, root, 4 * place.children.size() + 3);
    for (const Subtree& child : place.children) {
        const Runs runs = runs_of(child, problem);
        for (int i = 0; i < runs.count; ++i) {
            list.recv(absolute_rank(child.begin, root, problem.ranks),
                      place_of(runs.run[static_cast<std::size_t>(i)]));
        }
    }
    if (!problem.in_place) list.copy(place_of({0, 1}), in(0, problem.bytes));
    for (const Subtree& child : place.children) {
        list.wait(absolute_rank(child.begin, root, problem.ranks),
                  static_cast<std::uint64_t>(runs_of(child, problem).count));
    }
    return list.finish();
}

}  // namespace

List build_along_tree(const Problem& problem, int rank, const Place& place) {
    if (place.parent < 0) return build_root(problem, place);

    const auto absolute = [&](int relative) { return absolute_rank(relative, problem.root, problem.ranks); };
    Builder list(problem, rank, 2 * place.children.size() + 3);
    Span collected = in(0, problem.bytes);
    if (!place.children.empty()) {
        collected = list.scratch(blocks(place.own.end - place.own.begin, problem));
        for (const Subtree& child : place.children) {
            list.recv(absolute(child.begin), collected.part(blocks(child.begin - place.own.begin, problem),
                                                            blocks(child.end - child.begin, problem)));
        }
        list.copy(collected.part(0, problem.bytes), in(0, problem.bytes));
        for (const Subtree& child : place.children) list.wait(absolute(child.begin));
    }
    const Runs runs = place.parent == 0 ? runs_of(place.own, problem) : Runs{{{place.own, {}}}, 1};
    for (int i = 0; i < runs.count; ++i) {
        const Subtree run = runs.run[static_cast<std::size_t>(i)];
        list.send(absolute(place.parent), collected.part(blocks(run.begin - place.own.begin, problem),
                                                         blocks(run.end - run.begin, problem)));
    }
    return list.finish();
}

double cost_along_tree(const Problem& problem, int levels, const Machine& machine) {
    const double bytes = static_cast<double>(problem.bytes);
    return levels * (machine.latency + 2 * machine.task) + (problem.ranks - 1) * bytes * machine.per_byte +
           bytes * machine.copy_per_byte;
}

}  // namespace lapwing::gather
