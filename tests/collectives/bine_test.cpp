// Bine trees and butterflies against the definitions of De Sensi et al. 2025: negabinary numbers, written
// here by repeated division.
#include "collectives/bine.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <set>
#include <string>
#include <vector>

#include "collectives/arithmetic.hpp"
#include "collectives/catalogue.hpp"
#include "collectives/trees.hpp"
#include "lists.hpp"
#include "problems.hpp"

namespace lapwing {
namespace {

using testing::ElementsAre;

int modulo(int n, int ranks) {
    return ((n % ranks) + ranks) % ranks;
}

// The digits of a rank with base -2, as many as the ranks need, as bits.
int negabinary(int rank, int ranks) {
    const int digits = ceil_log2(ranks);
    // Of the numbers that are equal to the rank modulo the ranks, the one that has so many digits.
    for (const int candidate : {rank, rank - ranks}) {
        int n = candidate;
        int bits = 0;
        int count = 0;
        for (; n != 0; ++count) {
            const int digit = n & 1;
            bits |= digit << count;
            n = (n - digit) / -2;
        }
        if (count <= digits) return bits;
    }
    ADD_FAILURE() << rank << " of " << ranks;
    return 0;
}
int rank_of(int bits, int ranks) {
    int n = 0;
    int power = 1;
    for (; bits != 0; bits >>= 1, power *= -2) n += (bits & 1) * power;
    return modulo(n, ranks);
}

// The paper's tree of halved distances with root 0: a rank has received in the step that leaves as many
// digits as its lowest equal ones, and the sender's are those flipped.
int parent_by_digits(int rank, int ranks) {
    const int digits = negabinary(rank, ranks);
    int equal = 1;
    while (equal < ceil_log2(ranks) && (digits >> equal & 1) == (digits & 1)) ++equal;
    return rank_of(digits ^ ((1 << equal) - 1), ranks);
}

TreeNode node_of(int ranks, int rank, int root) {
    return tree_node(Shape::bine, ranks, root, rank);
}
// In the tree whose place 0 has rank 0.
TreeNode node_at(int ranks, int place) {
    return node_of(ranks, place, place_of_root(Shape::bine, ranks));
}
int parent_of(int ranks, int rank, int root) {
    const TreeNode node = node_of(ranks, rank, root);
    return node.parent < 0 ? -1 : absolute_rank(node.parent, node.first, ranks);
}
// In the order in which a broadcast serves them.
std::vector<int> children_of(int ranks, int rank, int root) {
    const TreeNode node = node_of(ranks, rank, root);
    std::vector<int> children;
    for (const Subtree& child : node.children)
        children.push_back(absolute_rank(child.head, node.first, ranks));
    std::ranges::reverse(children);
    return children;
}

TEST(BineTree, OfEightRanks) {
    EXPECT_THAT(children_of(8, 0, 0), ElementsAre(3, 7, 1));
    EXPECT_THAT(children_of(8, 3, 0), ElementsAre(4, 2));
    EXPECT_THAT(children_of(8, 7, 0), ElementsAre(6));
    EXPECT_THAT(children_of(8, 4, 0), ElementsAre(5));
    for (const int leaf : {1, 2, 5, 6}) EXPECT_TRUE(children_of(8, leaf, 0).empty());
}

TEST(BineTree, IsThePapersForPowersOfTwo) {
    for (int ranks = 2; ranks <= 2048; ranks *= 2) {
        for (int rank = 0; rank < ranks; ++rank) {
            EXPECT_EQ(parent_of(ranks, rank, 0), rank == 0 ? -1 : parent_by_digits(rank, ranks))
                << rank << " of " << ranks;
        }
    }
}

TEST(BineTree, AnotherRootTurnsIt) {
    for (const int ranks : {1, 2, 5, 8, 12, 16, 21}) {
        for (int root = 0; root < ranks; ++root) {
            for (int rank = 0; rank < ranks; ++rank) {
                const int parent = parent_of(ranks, rank, 0);
                EXPECT_EQ(parent_of(ranks, modulo(rank + root, ranks), root),
                          parent < 0 ? -1 : modulo(parent + root, ranks));
            }
        }
    }
}

// Of all numbers of ranks.
TEST(BineTree, SubtreesAreRunsAroundTheirHeads) {
    for (int ranks = 1; ranks <= 200; ++ranks) {
        for (int place = 0; place < ranks; ++place) {
            const TreeNode node = node_at(ranks, place);
            EXPECT_EQ(node.own.head, place);
            EXPECT_EQ(node.parent < 0, place == place_of_root(Shape::bine, ranks));
            int below = place;      // where the ranks begin that are in the subtrees below, or this one
            int above = place + 1;  // where those end that are above
            for (const Subtree& child : node.children) {
                EXPECT_TRUE(child.end == below || child.begin == above);
                (child.end == below ? below : above) = child.end == below ? child.begin : child.end;
                EXPECT_EQ(node_at(ranks, child.head).own.begin, child.begin);
                EXPECT_EQ(node_at(ranks, child.head).own.end, child.end);
                EXPECT_EQ(node_at(ranks, child.head).parent, place);
            }
            EXPECT_EQ(below, node.own.begin);
            EXPECT_EQ(above, node.own.end);
            EXPECT_LE(static_cast<int>(node.children.size()), ceil_log2(ranks));
        }
    }
}

TEST(BineTree, HasNoMoreLevelsThanABinomialTree) {
    for (int ranks = 1; ranks <= 200; ++ranks) {
        // By when a rank has received, if each sends to one child in each step.
        std::vector<int> step(static_cast<std::size_t>(ranks), 0);
        const auto visit = [&](const auto& self, int place) -> int {
            const TreeNode node = node_at(ranks, place);
            int last = step[static_cast<std::size_t>(place)];
            int sent = last;
            for (std::size_t i = node.children.size(); i-- > 0;) {
                step[static_cast<std::size_t>(node.children[i].head)] = ++sent;
                last = std::max(last, self(self, node.children[i].head));
            }
            return last;
        };
        EXPECT_EQ(visit(visit, place_of_root(Shape::bine, ranks)), ceil_log2(ranks)) << ranks;
    }
}

// Two thirds: the sum of the distances between parents and children.
TEST(BineTree, IsShorterThanABinomialTree) {
    for (const int ranks : {16, 64, 100, 1024}) {
        const auto distances = [&](const char* algorithm) {
            double sum = 0;
            for (int rank = 0; rank < ranks; ++rank) {
                for (const Task& task : list_of(Collective::broadcast, algorithm, ranks, rank).tasks) {
                    const int apart = std::abs(task.peer - rank);
                    if (task.kind == Kind::send) sum += std::min(apart, ranks - apart);
                }
            }
            return sum;
        };
        EXPECT_LT(distances("bine"), 0.8 * distances("binomial")) << ranks;
    }
}

TEST(BineButterfly, PeersAreMutualAndOfOtherParity) {
    for (int ranks = 2; ranks <= 1024; ranks *= 2) {
        for (int step = 0; step < ceil_log2(ranks); ++step) {
            for (int rank = 0; rank < ranks; ++rank) {
                const int peer = bine::peer(rank, step, ranks);
                EXPECT_NE(peer % 2, rank % 2);
                EXPECT_EQ(bine::peer(peer, step, ranks), rank);
                // The paper's: all ones with base -2, of one digit more in each step.
                const int apart = rank_of((2 << step) - 1, ranks);
                EXPECT_EQ(peer, modulo(rank % 2 == 0 ? rank + apart : rank - apart, ranks));
            }
        }
    }
}

TEST(BineButterfly, NeverOverflows) {
    constexpr int ranks = 1 << 30;
    for (const int rank : {0, 1, ranks - 2, ranks - 1}) {
        for (int step = 0; step < 30; ++step) {
            const int peer = bine::peer(rank, step, ranks);
            EXPECT_GE(peer, 0);
            EXPECT_LT(peer, ranks);
            EXPECT_EQ(bine::peer(peer, step, ranks), rank);
        }
    }
}

TEST(BineButterfly, PlacesAreHalvedByTheSteps) {
    for (int ranks = 1; ranks <= 1024; ranks *= 2) {
        std::set<int> places;
        for (int rank = 0; rank < ranks; ++rank) {
            const int place = bine::place(rank, ranks);
            EXPECT_GE(place, 0);
            EXPECT_LT(place, ranks);
            EXPECT_TRUE(places.insert(place).second) << place << " twice of " << ranks;
            for (int step = 0; step < ceil_log2(ranks); ++step) {
                const int differs = place ^ bine::place(bine::peer(rank, step, ranks), ranks);
                EXPECT_EQ(differs >> (ceil_log2(ranks) - 1 - step), 1) << rank << " of " << ranks;
            }
        }
    }
}

TEST(BineButterfly, DeclinesOtherNumbersOfRanksInTheAllgather) {
    const Choice choice = parse_choice(Collective::allgather, "bine");
    for (const int ranks : {1, 2, 4, 64})
        EXPECT_TRUE(choice.algorithm->applies(problem_of(Collective::allgather, ranks, 0, 8), {}));
    const Verdict declined = choice.algorithm->applies(problem_of(Collective::allgather, 6, 0, 8), {});
    EXPECT_STREQ(declined.reason(), "the number of ranks is not a power of two");
}

// Half of the bytes go to a neighbour, and the last step, the farthest, has one block.
TEST(BineButterfly, LongMessagesGoToNeighbours) {
    for (const auto& [collective, algorithm] :
         {std::pair(Collective::allgather, "bine"), {Collective::reduce_scatter_block, "bine"}}) {
        constexpr int ranks = 64;
        constexpr std::uint64_t bytes = 8;
        for (const int rank : {0, 1, 37}) {
            std::uint64_t to_neighbour = 0;
            std::uint64_t all = 0;
            for (const Task& task : list_of(collective, algorithm, ranks, rank, bytes).tasks) {
                if (task.kind != Kind::send) continue;
                all += task.source.length;
                if (task.peer == (rank ^ 1)) to_neighbour += task.source.length;
            }
            EXPECT_EQ(to_neighbour * 63, all * 32) << algorithm << " " << rank;
        }
    }
}

}  // namespace
}  // namespace lapwing
