// Communicators that are duplicated and freed with collectives in flight, and errors on them; and what is
// left to the native MPI. communicators.cpp has communicators of every kind.
#include <mpi.h>

#include "reference.hpp"
#include "support/unit.hpp"

namespace {

void exchange_on(MPI_Comm communicator) {
    Exchange exchange(communicator, 5);
    exchange.start();
    ASSERT_EQ(MPI_Wait(&exchange.request, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_TRUE(exchange.right());
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
    const double own = rank_in(half) + 0.5;
    double sum = 0;  // of the other side
    MPI_Iallreduce(&own, &sum, 1, MPI_DOUBLE, MPI_SUM, inter, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    const int others = (size_of(world) + side) / 2;
    EXPECT_EQ(sum, others * others / 2.0);
    MPI_Comm merged;
    MPI_Intercomm_merge(inter, side, &merged);
    exchange_on(merged);
    MPI_Comm_free(&merged);
    MPI_Comm_free(&inter);
    MPI_Comm_free(&half);
}

// The program's own duplicate before, beside and after the first collective of a communicator.
TEST(Communicator, DuplicatedWithCollectivesInFlight) {
    for (int round = 0; round < 12; ++round) {
        MPI_Comm own;
        MPI_Comm_dup(world, &own);
        MPI_Comm duplicate = MPI_COMM_NULL;
        MPI_Request requests[2];
        Exchange exchange(own, 5, round);
        // Before the duplicate is asked for, or after that.
        if (round % 2 == 0) exchange.start();
        MPI_Comm_idup(own, &duplicate, &requests[0]);
        if (round % 2 == 1) exchange.start();
        requests[1] = exchange.request;
        if (round % 3 == 0) {
            MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        } else {
            // Each rank waits in an order of its own.
            for (int i = 0; i < 2; ++i) MPI_Wait(&requests[(i + rank_in(world)) % 2], MPI_STATUS_IGNORE);
        }
        EXPECT_TRUE(exchange.right());
        MPI_Comm_free(&own);
        exchange_on(duplicate);
        MPI_Comm_free(&duplicate);
    }
}

MPI_Comm told_communicator = MPI_COMM_NULL;
int told_class = MPI_SUCCESS;

void note_error(MPI_Comm* communicator, int* error, ...) {
    told_communicator = *communicator;
    MPI_Error_class(*error, &told_class);
}

// With more bytes than a rank expects, by the host engine: the others move bytes that have no end to compare.
TEST(Communicator, TruncationIsToldByTheCommunicatorsOwnHandler) {
    const char* engine = std::getenv("LAPWING_ENGINE");
    if (engine == nullptr || std::strcmp(engine, "host") != 0) GTEST_SKIP() << "is for the host engine";
    if (size_of(world) < 2) GTEST_SKIP() << "needs two ranks";
    MPI_Errhandler handler;
    MPI_Comm_create_errhandler(note_error, &handler);
    MPI_Comm own;
    MPI_Comm_dup(world, &own);
    MPI_Comm_set_errhandler(own, handler);
#ifndef OPEN_MPI
    // MPICH calls this one when a message is too long, whatever its communicator.
    MPI_Comm_set_errhandler(world, MPI_ERRORS_RETURN);
#endif
    const bool is_root = rank_in(own) == 0;
    int data[2] = {1, 2};
    static int gathered[64];  // messages that come after the one that is too long may still find their places
    for (const bool all : {false, true}) {
        told_communicator = MPI_COMM_NULL;
        told_class = MPI_SUCCESS;
        MPI_Request requests[2];
        MPI_Igather(data, is_root ? 1 : 2, MPI_INT, gathered, 1, MPI_INT, 0, own, &requests[0]);
        requests[1] = MPI_REQUEST_NULL;
        if (all) MPI_Ibarrier(world, &requests[1]);
        int error = MPI_SUCCESS;
        MPI_Status statuses[2];
        if (all)
            error = MPI_Waitall(2, requests, statuses);
        else
            error = MPI_Wait(&requests[0], &statuses[0]);
        EXPECT_EQ(requests[0], MPI_REQUEST_NULL);
        if (!is_root) continue;
        EXPECT_EQ(told_communicator, own);
        int error_class = MPI_SUCCESS;
        MPI_Error_class(error, &error_class);
        EXPECT_EQ(error_class, all ? MPI_ERR_IN_STATUS : MPI_ERR_TRUNCATE);
        EXPECT_EQ(told_class, error_class);
        if (!all) continue;
        MPI_Error_class(statuses[0].MPI_ERROR, &error_class);
        EXPECT_EQ(error_class, MPI_ERR_TRUNCATE);
        EXPECT_EQ(statuses[1].MPI_ERROR, MPI_SUCCESS);
    }
    MPI_Comm_set_errhandler(world, MPI_ERRORS_ARE_FATAL);
    MPI_Errhandler_free(&handler);
    MPI_Comm_free(&own);
}

}  // namespace
