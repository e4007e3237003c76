// The fixed bracketing of reproducible reductions: where the parentheses are in x0 + x1 + ... of n ranks.
//
// Floating-point addition is not associative, so the bits of a sum depend on its bracketing. An algorithm
// that keeps this bracketing, with the operands of each operation in rank order, gives the same bits as every
// other one that does. The bracketing depends on the number of contributions alone.
//
//   all ranks  Neighbours are added in pairs from rank 0 on, until their number is a power of two. Then a
//   balanced
//              tree over neighbours: 6 ranks: ((0+1)+(2+3))+(4+5); 7 ranks: ((0+1)+(2+3))+((4+5)+6).
//              Recursive doubling and recursive halving in the form of Thakur, Rabenseifner, Gropp 2005,
//              section 4.
//   scan       The last m ranks are one operand, where m is the largest power of two below n; the ranks
//   before
//              them are the other: 6 ranks: (0+1)+((2+3)+(4+5)); 7 ranks: (0+(1+2))+((3+4)+(5+6)).
//              Hillis, Steele 1986, "Data parallel algorithms".
//   exscan     The same, where m is the largest 2^k - 1 below n: 6 ranks: (0+(1+2))+((3+4)+5).
#pragma once

#include <algorithm>
#include <bit>

#include "task/problem.hpp"

namespace lapwing::bracketing {

// Each function returns the value of an expression: leaf(r) is the value of rank r, join(a, b) of two
// operands. The operands are evaluated from left to right.

template <typename Leaf, typename Join>
auto of_all(int ranks, const Leaf& leaf, const Join& join) {
    const auto core = static_cast<int>(std::bit_floor(static_cast<unsigned>(ranks)));
    const int pairs = ranks - core;
    const auto tree = [&](const auto& self, int first, int count) -> decltype(leaf(0)) {
        if (count > 1) {
            const auto left = self(self, first, count / 2);
            return join(left, self(self, first + count / 2, count / 2));
        }
        const int rank = first + std::min(first, pairs);
        if (first >= pairs) return leaf(rank);
        const auto left = leaf(rank);
        return join(left, leaf(rank + 1));
    };
    return tree(tree, 0, core);
}

template <typename Leaf, typename Join>
auto of_scan(int ranks, bool exclusive, const Leaf& leaf, const Join& join) {
    const auto below = [](int count, bool less_one) {
        const unsigned power = std::bit_floor(static_cast<unsigned>(less_one ? count : count - 1));
        return static_cast<int>(less_one ? power - 1 : power);
    };
    const auto tree = [&](const auto& self, int first, int count, bool less_one) -> decltype(leaf(0)) {
        if (count == 1) return leaf(first);
        const int last = below(count, less_one);
        const auto left = self(self, first, count - last, false);
        return join(left, self(self, first + count - last, last, less_one));
    };
    return tree(tree, 0, ranks, exclusive);
}

// The expression of the result that combines the ranks 0 to `last` of the problem.
template <typename Leaf, typename Join>
auto of(const Problem& problem, int last, const Leaf& leaf, const Join& join) {
    if (problem.collective == Collective::scan || problem.collective == Collective::exscan)
        return of_scan(last + 1, problem.collective == Collective::exscan, leaf, join);
    return of_all(last + 1, leaf, join);
}

// Returns whether the bits of the result may depend on the bracketing. They do not for integers and
// binned sums, whose operators are associative.
inline bool matters(const Problem& problem) {
    const bool exact = applies(Operator::bit_and, problem.type) || problem.type == Type::binned;
    return is_reduction(problem.collective) && !exact;
}

// Returns the problem with the operands of each operation in rank order, if the bracketing matters.
inline Problem in_rank_order(Problem problem) {
    if (matters(problem)) problem.ordered = true;
    return problem;
}

}  // namespace lapwing::bracketing
