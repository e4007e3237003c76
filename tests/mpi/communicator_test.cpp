// Communicators of every kind: made, freed, empty of data, with other ranks than the world's; and what is
// left to the MPI underneath.
#include <gtest/gtest.h>
#include <mpi.h>

#include <vector>

#include "reference.hpp"

namespace {

const MPI_Comm world = MPI_COMM_WORLD;

void exchange_on(MPI_Comm communicator) {
    Exchange exchange(communicator, 5);
    exchange.start();
    ASSERT_EQ(MPI_Wait(&exchange.request, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_TRUE(exchange.right());
}

TEST(Communicator, OneRank) {
    exchange_on(MPI_COMM_SELF);
    int data = 3;
    MPI_Request requests[3];
    MPI_Ibcast(&data, 1, MPI_INT, 0, MPI_COMM_SELF, &requests[0]);
    int gathered = 0;
    MPI_Igather(&data, 1, MPI_INT, &gathered, 1, MPI_INT, 0, MPI_COMM_SELF, &requests[1]);
    MPI_Ibarrier(MPI_COMM_SELF, &requests[2]);
    MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
    EXPECT_EQ(gathered, 3);
}

TEST(Communicator, ManyMadeAndFreed) {
    // More than an MPI can have at one time, if any were kept; it takes long where ranks outnumber cores.
    const int many = size_of(world) <= 2 ? 3000 : 100;
    for (int i = 0; i < many; ++i) {
        MPI_Comm made;
        MPI_Comm_dup(world, &made);
        MPI_Request barrier;
        MPI_Ibarrier(made, &barrier);
        MPI_Wait(&barrier, MPI_STATUS_IGNORE);
        MPI_Comm_free(&made);
    }
}

TEST(Communicator, RanksInAnotherOrder) {
    MPI_Comm backwards;
    MPI_Comm_split(world, 0, -rank_in(world), &backwards);
    exchange_on(backwards);
    for (int root = 0; root < size_of(backwards); ++root) {
        int data = rank_in(backwards) == root ? root : -1;
        MPI_Request request;
        MPI_Ibcast(&data, 1, MPI_INT, root, backwards, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        EXPECT_EQ(data, root);
    }
    MPI_Comm_free(&backwards);
}

TEST(Communicator, Topologies) {
    int dimensions[1] = {size_of(world)};
    int periods[1] = {1};
    MPI_Comm ring;
    MPI_Cart_create(world, 1, dimensions, periods, 0, &ring);
    exchange_on(ring);
    MPI_Comm_free(&ring);
}

TEST(Communicator, IntercommunicatorsAreLeftToTheMpi) {
    if (size_of(world) < 2) GTEST_SKIP() << "needs two ranks";
    MPI_Comm half;
    const int side = rank_in(world) % 2;
    MPI_Comm_split(world, side, 0, &half);
    MPI_Comm inter;
    MPI_Intercomm_create(half, 0, world, 1 - side, 7, &inter);
    MPI_Request barrier;
    MPI_Ibarrier(inter, &barrier);
    EXPECT_EQ(MPI_Wait(&barrier, MPI_STATUS_IGNORE), MPI_SUCCESS);
    int data = side == 0 && rank_in(half) == 0 ? 99 : -1;
    MPI_Request request;
    const int root = side == 1 ? 0 : rank_in(half) == 0 ? MPI_ROOT : MPI_PROC_NULL;
    MPI_Ibcast(&data, 1, MPI_INT, root, inter, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (side == 1) {
        EXPECT_EQ(data, 99);
    }
    MPI_Comm merged;
    MPI_Intercomm_merge(inter, side, &merged);
    exchange_on(merged);
    MPI_Comm_free(&merged);
    MPI_Comm_free(&inter);
    MPI_Comm_free(&half);
}

TEST(Communicator, WrongArgumentsAreTheMpisToRefuse) {
    MPI_Comm returns;
    MPI_Comm_dup(world, &returns);
    MPI_Comm_set_errhandler(returns, MPI_ERRORS_RETURN);
    int data = 0;
    MPI_Request request = MPI_REQUEST_NULL;
    EXPECT_NE(MPI_Ibcast(&data, 1, MPI_INT, size_of(world), returns, &request), MPI_SUCCESS);
    EXPECT_NE(MPI_Ibcast(&data, -1, MPI_INT, 0, returns, &request), MPI_SUCCESS);
    EXPECT_NE(MPI_Ibcast(&data, 1, MPI_DATATYPE_NULL, 0, returns, &request), MPI_SUCCESS);
    MPI_Comm_free(&returns);
}

TEST(Communicator, FreedWithACollectiveInFlight) {
    MPI_Comm made;
    MPI_Comm_dup(world, &made);
    Exchange exchange(made, 1000);
    exchange.start();
    const int ranks = size_of(made);
    const int rank = rank_in(made);
    MPI_Comm_free(&made);
    MPI_Wait(&exchange.request, MPI_STATUS_IGNORE);
    for (int from = 0; from < ranks; ++from) {
        EXPECT_EQ(exchange.received[static_cast<std::size_t>(from) * 1000], value(from, rank, 0));
    }
}

}  // namespace
