// Neighbours that occur more than once, through an unmodified program's calls.
#include <gtest/gtest.h>
#include <mpi.h>

#include <vector>

#include "reference.hpp"

namespace {

// With one or two ranks both neighbours are the same.
TEST(Neighbors, OnARingWhatIsSentDownwardsArrivesFromAbove) {
    const int ranks = size_of(world);
    const int rank = rank_in(world);
    const int periods[1] = {1};
    MPI_Comm ring = MPI_COMM_NULL;
    MPI_Cart_create(MPI_COMM_WORLD, 1, &ranks, periods, 0, &ring);
    const int sent[2] = {10 * rank, 10 * rank + 1};  // downwards, upwards
    int received[2] = {-1, -1};                      // from below, from above
    MPI_Request request = MPI_REQUEST_NULL;
    ASSERT_EQ(MPI_Ineighbor_alltoall(sent, 1, MPI_INT, received, 1, MPI_INT, ring, &request), MPI_SUCCESS);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    EXPECT_EQ(received[0], 10 * ((rank + ranks - 1) % ranks) + 1);
    EXPECT_EQ(received[1], 10 * ((rank + 1) % ranks));
    MPI_Comm_free(&ring);
}

TEST(Neighbors, OfParallelEdgesTheFirstMeetsTheFirst) {
    const int ranks = size_of(world);
    const int rank = rank_in(world);
    const int above = (rank + 1) % ranks;
    const int below = (rank + ranks - 1) % ranks;
    // Three edges to the next rank, one to itself between them.
    const int to[4] = {above, above, rank, above};
    const int from[4] = {rank, below, below, below};
    MPI_Comm graph = MPI_COMM_NULL;
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 4, from, MPI_UNWEIGHTED, 4, to, MPI_UNWEIGHTED,
                                   MPI_INFO_NULL, 0, &graph);
    if (ranks == 1) {
        MPI_Comm_free(&graph);
        GTEST_SKIP() << "all four are edges to itself here";
    }
    const int sent[4] = {10 * rank, 10 * rank + 1, 10 * rank + 2, 10 * rank + 3};
    int received[4] = {-1, -1, -1, -1};
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Ineighbor_alltoall(sent, 1, MPI_INT, received, 1, MPI_INT, graph, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    EXPECT_EQ(received[0], 10 * rank + 2);
    EXPECT_EQ(received[1], 10 * below);
    EXPECT_EQ(received[2], 10 * below + 1);
    EXPECT_EQ(received[3], 10 * below + 3);
    MPI_Comm_free(&graph);
}

TEST(Neighbors, LengthsAndTypesOfTheirOwn) {
    const int ranks = size_of(world);
    const int rank = rank_in(world);
    // Everybody to everybody, itself too; the block for rank d has d + 1 numbers.
    std::vector<int> everybody;
    for (int i = 0; i < ranks; ++i) everybody.push_back(i);
    MPI_Comm graph = MPI_COMM_NULL;
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, ranks, everybody.data(), MPI_UNWEIGHTED, ranks,
                                   everybody.data(), MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &graph);
    const auto places = static_cast<std::size_t>(ranks);
    std::vector<int> sent(places * (places + 1), 0);
    std::vector<int> received(places * (places + 1), -1);
    std::vector<int> sent_counts(places);
    std::vector<int> received_counts(places, rank + 1);
    std::vector<MPI_Aint> displacements(places);
    std::vector<MPI_Datatype> types(places, MPI_INT);
    for (std::size_t to = 0; to < places; ++to) {
        sent_counts[to] = static_cast<int>(to) + 1;
        displacements[to] = static_cast<MPI_Aint>(to * (places + 1) * sizeof(int));
        for (int i = 0; i < sent_counts[to]; ++i)
            sent[to * (places + 1) + static_cast<std::size_t>(i)] =
                100 * rank + 10 * static_cast<int>(to) + i;
    }
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Ineighbor_alltoallw(sent.data(), sent_counts.data(), displacements.data(), types.data(),
                            received.data(), received_counts.data(), displacements.data(), types.data(),
                            graph, &request);
    // The vectors are the program's again.
    sent_counts.assign(places, -1);
    types.assign(places, MPI_DATATYPE_NULL);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    for (int from = 0; from < ranks; ++from) {
        for (int i = 0; i <= ranks; ++i) {
            const int right = i <= rank ? 100 * from + 10 * rank + i : -1;
            EXPECT_EQ(received[static_cast<std::size_t>(from) * (places + 1) + static_cast<std::size_t>(i)],
                      right);
        }
    }
    MPI_Comm_free(&graph);
}

}  // namespace
