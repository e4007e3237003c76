#include "collectives/broadcast/k_nomial_tree.hpp"

#include <algorithm>

#include "collectives/arithmetic.hpp"
#include "task/builder.hpp"

namespace lapwing::broadcast {

// Ranks are counted from the root and written with base `radix`. The parent of a rank has that rank's lowest
// digit that is not zero cleared; its children have one digit set below that. The largest subtree goes first.
List build_along_k_nomial_tree(const Problem& problem, int rank, std::int64_t radix) {
    const int relative = relative_rank(rank, problem.root, problem.ranks);
    const auto absolute = [&](std::int64_t r) {
        return absolute_rank(static_cast<int>(r), problem.root, problem.ranks);
    };

    std::int64_t place = 1;  // of the digit under which the children stand
    while (place < problem.ranks && relative / place % radix == 0) place *= radix;

    std::int64_t children = 0;
    for (std::int64_t below = place / radix; below >= 1; below /= radix)
        children += std::min(radix - 1, (problem.ranks - 1 - relative) / below);
    Builder list(problem, rank, 2 + static_cast<std::uint64_t>(children));
    Span data = in(0, problem.bytes);
    if (relative != 0) {
        data = out(0, problem.bytes);
        const int parent = absolute(relative - relative / place % radix * place);
        list.recv(parent, data);
        list.wait(parent);
    }
    for (place /= radix; place >= 1; place /= radix) {
        for (std::int64_t digit = 1; digit < radix; ++digit) {
            const std::int64_t child = relative + digit * place;
            if (child < problem.ranks) list.send(absolute(child), data);
        }
    }
    return list.finish();
}

double cost_along_k_nomial_tree(const Problem& problem, std::int64_t radix, const Machine& machine) {
    int levels = 0;
    for (std::int64_t reached = 1; reached < problem.ranks; reached *= radix) ++levels;
    const double bytes = static_cast<double>(problem.bytes);
    const double children = static_cast<double>(std::min<std::int64_t>(radix, problem.ranks) - 1);
    return levels * (machine.latency + children * (2 * machine.task + bytes * machine.per_byte));
}

}  // namespace lapwing::broadcast
