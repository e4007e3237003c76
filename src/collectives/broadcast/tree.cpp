// Broadcast along a tree.
//
// k-nomial: fewer steps than binomial, with k - 1 sends in each. Kandalla et al. 2011, "Designing
// Non-blocking Broadcast with Collective Offload on InfiniBand Clusters: A Case Study with HPL" (small
// messages).
//
// Two of these trees have names of their own. binomial, k = 2: Thakur, Rabenseifner, Gropp 2005,
// "Optimization of Collective Communication Operations in MPICH", section 4.2. flat: the root has all other
// ranks as children. For few ranks: once the collective is started, no rank needs the progress of another to
// complete. Hoefler, Lumsdaine, Rehm 2007, "Implementation and Performance Analysis of Non-Blocking
// Collective Operations for MPI".
#include <algorithm>

#include "collectives/arithmetic.hpp"
#include "collectives/rows.hpp"
#include "task/builder.hpp"

namespace lapwing::broadcast {
namespace {

constexpr Parameter parameters[] = {
    {"k", "base of the tree: a rank sends to k - 1 others in each step", 4, 2, 1024}};

// Ranks are counted from the root and written with base `radix`. The parent of a rank has that rank's lowest
// digit that is not zero cleared; its children have one digit set below that. The largest subtree goes first.
List build_k_nomial(const Problem& problem, int rank, std::int64_t radix) {
    const int relative = relative_rank(rank, problem.root, problem.ranks);
    const auto absolute = [&](std::int64_t r) {
        return absolute_rank(static_cast<int>(r), problem.root, problem.ranks);
    };

    std::int64_t place = 1;  // value of the lowest digit of this rank that is not zero
    while (place < problem.ranks && relative / place % radix == 0) place *= radix;

    Builder list(problem, rank);
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

double cost_of_k_nomial(const Problem& problem, std::int64_t radix, const Machine& machine) {
    int levels = 0;
    for (std::int64_t reached = 1; reached < problem.ranks; reached *= radix) ++levels;
    const double bytes = static_cast<double>(problem.bytes);
    const double children = static_cast<double>(std::min<std::int64_t>(radix, problem.ranks) - 1);
    return levels * (machine.latency + children * (2 * machine.task + bytes * machine.per_byte));
}

std::int64_t flat_radix(const Problem& problem) {
    return std::max(2, problem.ranks);
}

}  // namespace

const Algorithm k_nomial = {
    .summary = "in each step every rank that has the data sends it to k - 1 more",
    .source = "Kandalla et al. 2011 (HPL), small messages",
    .parameters = parameters,
    .build = [](const Problem& problem, int rank,
                const Parameters& values) { return build_k_nomial(problem, rank, values[0]); },
    .cost = [](const Problem& problem, const Parameters& values,
               const Machine& machine) { return cost_of_k_nomial(problem, values[0], machine); },
};

const Algorithm binomial = {
    .summary = "in each step every rank that has the data sends it to one more",
    .source = "Thakur, Rabenseifner, Gropp 2005, section 4.2",
    .build = [](const Problem& problem, int rank,
                const Parameters&) { return build_k_nomial(problem, rank, 2); },
    .cost = [](const Problem& problem, const Parameters&,
               const Machine& machine) { return cost_of_k_nomial(problem, 2, machine); },
    .paths = Paths::doubling,
};

const Algorithm flat = {
    .summary = "the root sends to all other ranks, in one step",
    .source = "Hoefler, Lumsdaine, Rehm 2007",
    .build = [](const Problem& problem, int rank,
                const Parameters&) { return build_k_nomial(problem, rank, flat_radix(problem)); },
    .cost = [](const Problem& problem, const Parameters&,
               const Machine& machine) { return cost_of_k_nomial(problem, flat_radix(problem), machine); },
};

}  // namespace lapwing::broadcast
