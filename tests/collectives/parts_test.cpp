// Collectives whose blocks have several lengths: what their algorithms are, beyond being right.
#include <gtest/gtest.h>

#include <utility>

#include "lists.hpp"
#include "task/text.hpp"
#include "task/validation.hpp"

namespace lapwing {
namespace {

Problem with_lengths(Collective collective, int ranks, int root, const BlockLength& lengths) {
    Problem problem = problem_of(collective, ranks, root);
    problem.parts = all_parts(problem, lengths);
    return problem;
}

// A rank whose block is 0 bytes long is none of those who take part.
std::uint64_t odd_ones_have_none(int from, int) {
    return from % 2 == 0 ? 4 : 0;
}

TEST(BlocksOfOneLength, AreSentAsByTheCollectiveWithoutParts) {
    const std::pair<Collective, Collective> forms[] = {{Collective::gather, Collective::gatherv},
                                                       {Collective::scatter, Collective::scatterv},
                                                       {Collective::allgather, Collective::allgatherv},
                                                       {Collective::alltoall, Collective::alltoallv}};
    for (const auto& form : forms) {
        for (const Algorithm* algorithm : algorithms_of(form.second)) {
            const Choice with{algorithm, default_parameters(*algorithm)};
            const Choice without = parse_choice(form.first, algorithm->name);
            for (int ranks = 1; ranks <= 9; ++ranks) {
                const int root = has_root(form.first) ? ranks / 2 : 0;
                const Problem parts = with_lengths(form.second, ranks, root, [](int, int) { return 6; });
                const Problem plain = problem_of(form.first, ranks, root, 6);
                if (!algorithm->applies(parts, with.parameters)) continue;
                for (int rank = 0; rank < ranks; ++rank) {
                    EXPECT_EQ(build(parts, rank, with), build(plain, rank, without))
                        << name(form.second) << " " << algorithm->name << " of " << ranks;
                }
            }
        }
    }
}

TEST(SequentialGatherv, WhoHasNothingIsNotSignalled) {
    const Problem problem = with_lengths(Collective::gatherv, 6, 0, odd_ones_have_none);
    const Choice sequential = parse_choice(Collective::gatherv, "sequential");
    EXPECT_TRUE(build(problem, 3, sequential).tasks.empty());
    EXPECT_EQ(print(build(problem, 4, sequential)),
              "list 4 in 4 out 0 scratch 0\n"
              "  recv 0\n"
              "  wait 0 1\n"
              "  send 0 in[0+4]\n"
              "end\n");
    EXPECT_EQ(print(build(problem, 0, sequential)),
              "list 0 in 4 out 12 scratch 0\n"
              "  recv 2 out[4+4]\n"
              "  recv 4 out[8+4]\n"
              "  send 2\n"
              "  copy out[0+4] in[0+4]\n"
              "  wait 2 1\n"
              "  send 4\n"
              "  wait 4 1\n"
              "end\n");
}

TEST(SequentialGatherv, WindowBoundsTheSenders) {
    const Problem problem = with_lengths(Collective::gatherv, 20, 3, odd_ones_have_none);
    EXPECT_EQ(max_in_flight(build(problem, 3, parse_choice(Collective::gatherv, "sequential"))), 1U);
    EXPECT_EQ(max_in_flight(build(problem, 3, parse_choice(Collective::gatherv, "sequential:window=3"))), 3U);
}

TEST(RingAllgatherv, EmptyBlocksAreNotHandedOn) {
    const Problem problem = with_lengths(Collective::allgatherv, 8, 0, odd_ones_have_none);
    const Choice ring = parse_choice(Collective::allgatherv, "ring");
    EXPECT_EQ(count(build(problem, 0, ring), Kind::recv), 3U);  // of 2, 4 and 6
    EXPECT_EQ(count(build(problem, 0, ring), Kind::send), 4U);  // not those of the rank above
    EXPECT_EQ(count(build(problem, 1, ring), Kind::send), 3U);
}

TEST(BruckAllgatherv, SendsLogarithmicallyManyMessages) {
    const Problem problem = with_lengths(Collective::allgatherv, 100, 0,
                                         [](int from, int) { return static_cast<std::uint64_t>(from); });
    EXPECT_EQ(count(build(problem, 1, parse_choice(Collective::allgatherv, "bruck")), Kind::send), 7U);
}

TEST(PairwiseAlltoallv, WindowBoundsTheSendsInFlight) {
    const Problem problem = with_lengths(Collective::alltoallv, 17, 0, [](int from, int to) {
        return static_cast<std::uint64_t>(from * to % 3);
    });
    const Choice choice = parse_choice(Collective::alltoallv, "pairwise:window=3");
    EXPECT_LE(max_in_flight(
                  build(with_lengths(Collective::alltoallv, 17, 0, [](int, int) { return 1; }), 5, choice)),
              3U);
    EXPECT_EQ(count(build(problem, 0, choice), Kind::send), 0U);
    EXPECT_EQ(count(build(problem, 1, choice), Kind::send),
              10U);  // not to 0, 3, 6, 9, 12 and 15, nor to itself
}

TEST(FlatNeighborAlltoall, KeepsTheOrderOfNeighbours) {
    // Rank 0 has two edges to itself and two to rank 1, one of them empty.
    Problem problem = problem_of(Collective::neighbor_alltoall, 2);
    problem.parts = {{{{1, 0, 2}, {0, 2, 1}, {1, 3, 0}, {0, 3, 3}}, {{0, 5, 1}, {1, 0, 4}, {0, 6, 3}}},
                     {{{0, 0, 4}}, {{0, 3, 2}, {0, 7, 0}}}};
    ASSERT_NO_THROW(validate(problem));
    const Choice flat = parse_choice(Collective::neighbor_alltoall, "flat");
    EXPECT_EQ(print(build(problem, 0, flat)),
              "list 0 in 6 out 9 scratch 0\n"
              "  recv 1 out[0+4]\n"
              "  send 1 in[0+2]\n"
              "  copy out[5+4] in[2+4]\n"
              "  wait 1 1\n"
              "end\n");
    EXPECT_EQ(print(build(problem, 1, flat)),
              "list 1 in 4 out 5 scratch 0\n"
              "  recv 0 out[3+2]\n"
              "  send 0 in[0+4]\n"
              "  wait 0 1\n"
              "end\n");
}

TEST(FlatNeighborAllgather, SendsOneBlockToAll) {
    // A line that closes to a ring, of two ranks: each is the other's neighbour on both sides.
    Problem problem = problem_of(Collective::neighbor_allgather, 2);
    problem.parts = {{{{1, 0, 4}, {1, 0, 4}}, {{1, 0, 4}, {1, 4, 4}}},
                     {{{0, 0, 4}, {0, 0, 4}}, {{0, 0, 4}, {0, 4, 4}}}};
    ASSERT_NO_THROW(validate(problem));
    EXPECT_EQ(print(build(problem, 0, parse_choice(Collective::neighbor_allgather, "flat"))),
              "list 0 in 4 out 8 scratch 0\n"
              "  recv 1 out[0+4]\n"
              "  recv 1 out[4+4]\n"
              "  send 1 in[0+4]\n"
              "  send 1 in[0+4]\n"
              "  wait 1 1\n"
              "  wait 1 1\n"
              "end\n");
}

}  // namespace
}  // namespace lapwing
