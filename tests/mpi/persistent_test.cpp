// Persistent collectives: started again and again, in any order. fuzz.cpp completes them by every call.
#include <mpi.h>

#include "persistent_forms.hpp"
#include "reference.hpp"
#include "support/unit.hpp"

namespace {

// An alltoall that is made once; each round has data of its own.
struct Rounds : Exchange {
    Rounds(MPI_Comm communicator, int count) : Exchange(communicator, count) {
        PERSISTENT(Alltoall)
        (sent.data(), count, MPI_INT, received.data(), count, MPI_INT, communicator, MPI_INFO_NULL, &request);
    }
    ~Rounds() {
        if (request != MPI_REQUEST_NULL) MPI_Request_free(&request);
    }
    Rounds(const Rounds&) = delete;
    Rounds& operator=(const Rounds&) = delete;
};

TEST(Persistent, AnInactiveOneIsLikeNull) {
    std::deque<Rounds> both;
    both.emplace_back(world, 1);
    both.emplace_back(world, 2);
    for (int round = 0; round < 2; ++round) {
        MPI_Request requests[] = {both[0].request, both[1].request};
        int flag = 0;
        int index = 0;
        int some = 0;
        int indices[2];
        MPI_Status status;
        EXPECT_EQ(MPI_Wait(&requests[0], &status), MPI_SUCCESS);
        EXPECT_EQ(status.MPI_SOURCE, MPI_ANY_SOURCE);
        EXPECT_EQ(status.MPI_TAG, MPI_ANY_TAG);
        EXPECT_EQ(MPI_Test(&requests[0], &flag, MPI_STATUS_IGNORE), MPI_SUCCESS);
        EXPECT_EQ(flag, 1);
        flag = 0;
        EXPECT_EQ(MPI_Request_get_status(requests[0], &flag, MPI_STATUS_IGNORE), MPI_SUCCESS);
        EXPECT_EQ(flag, 1);
        EXPECT_EQ(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE), MPI_SUCCESS);
        flag = 0;
        EXPECT_EQ(MPI_Testall(2, requests, &flag, MPI_STATUSES_IGNORE), MPI_SUCCESS);
        EXPECT_EQ(flag, 1);
        EXPECT_EQ(MPI_Waitany(2, requests, &index, MPI_STATUS_IGNORE), MPI_SUCCESS);
        EXPECT_EQ(index, MPI_UNDEFINED);
        EXPECT_EQ(MPI_Testany(2, requests, &index, &flag, MPI_STATUS_IGNORE), MPI_SUCCESS);
        EXPECT_EQ(index, MPI_UNDEFINED);
        EXPECT_EQ(MPI_Waitsome(2, requests, &some, indices, MPI_STATUSES_IGNORE), MPI_SUCCESS);
        EXPECT_EQ(some, MPI_UNDEFINED);
        EXPECT_EQ(MPI_Testsome(2, requests, &some, indices, MPI_STATUSES_IGNORE), MPI_SUCCESS);
        EXPECT_EQ(some, MPI_UNDEFINED);
        EXPECT_EQ(requests[0], both[0].request);
        // And again when they have been active.
        for (Rounds& one : both) one.fill(round);
        MPI_Startall(2, requests);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        for (Rounds& one : both) EXPECT_TRUE(one.right());
    }
}

// Two persistent collectives, one more that stays inactive, persistent messages of the MPI's own, and a
// nonblocking collective: completed together until nothing is active.
using Complete = std::function<int(std::vector<MPI_Request>&)>;  // how many it has completed

void complete_mixtures(const Complete& complete) {
    const int ranks = size_of(world);
    const int rank = rank_in(world);
    const int below = (rank + ranks - 1) % ranks;
    std::deque<Rounds> collectives;
    for (int i = 0; i < 3; ++i) collectives.emplace_back(world, 10 * (i + 1));
    int sent = 0;
    int received = 0;
    MPI_Request messages[2];
    MPI_Send_init(&sent, 1, MPI_INT, (rank + 1) % ranks, 5, world, &messages[0]);
    MPI_Recv_init(&received, 1, MPI_INT, below, 5, world, &messages[1]);
    for (int round = 0; round < 3; ++round) {
        sent = rank + round;
        received = -1;
        for (Rounds& one : collectives) one.fill(round);
        std::vector<MPI_Request> requests = {messages[1], collectives[0].request, messages[0],
                                             collectives[1].request};
        ASSERT_EQ(MPI_Startall(4, requests.data()), MPI_SUCCESS);
        requests.push_back(collectives[2].request);
        Exchange exchange(world, 4, round);
        exchange.start();
        requests.insert(requests.begin() + 1, exchange.request);
        for (int done = 0; done < 5;) done += complete(requests);
        EXPECT_TRUE(collectives[0].right());
        EXPECT_TRUE(collectives[1].right());
        EXPECT_TRUE(exchange.right());
        EXPECT_EQ(received, below + round);
        EXPECT_EQ(requests[1], MPI_REQUEST_NULL);
        EXPECT_EQ(requests[2], collectives[0].request);
    }
    for (MPI_Request& message : messages) MPI_Request_free(&message);
}

int length(const std::vector<MPI_Request>& requests) {
    return static_cast<int>(requests.size());
}

TEST(Persistent, Waitany) {
    complete_mixtures([](std::vector<MPI_Request>& requests) {
        int index = -1;
        EXPECT_EQ(MPI_Waitany(length(requests), requests.data(), &index, MPI_STATUS_IGNORE), MPI_SUCCESS);
        EXPECT_NE(index, MPI_UNDEFINED);
        EXPECT_NE(index, 5) << "which is inactive";
        return 1;
    });
}

TEST(Persistent, Testany) {
    complete_mixtures([](std::vector<MPI_Request>& requests) {
        int index = -1;
        int flag = 0;
        EXPECT_EQ(MPI_Testany(length(requests), requests.data(), &index, &flag, MPI_STATUS_IGNORE),
                  MPI_SUCCESS);
        EXPECT_FALSE(flag && index == MPI_UNDEFINED) << "although some are active";
        return flag ? 1 : 0;
    });
}

TEST(Persistent, GetStatusLeavesItActive) {
    Rounds rounds(world, 3);
    rounds.fill(1);
    MPI_Start(&rounds.request);
    for (int flag = 0; !flag;)
        ASSERT_EQ(MPI_Request_get_status(rounds.request, &flag, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_TRUE(rounds.right());
    int index = MPI_UNDEFINED;
    EXPECT_EQ(MPI_Waitany(1, &rounds.request, &index, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_EQ(index, 0);
}

// More than the kernel engine keeps connections for, on a communicator of their own.
TEST(Persistent, StartedInAnotherOrderOnEachRank) {
    MPI_Comm own;
    MPI_Comm_dup(world, &own);
    {
        std::deque<Rounds> many;
        for (int i = 0; i < 40; ++i) many.emplace_back(own, 1 + i);
        for (int round = 0; round < 3; ++round) {
            std::vector<std::size_t> order(many.size());
            for (std::size_t i = 0; i < order.size(); ++i)
                order[i] = (i * 7 + static_cast<std::size_t>(rank_in(own) * 13 + round)) % order.size();
            std::deque<Exchange> others;
            std::vector<MPI_Request> requests;
            for (const std::size_t i : order) {
                many[i].fill(round);
                MPI_Start(&many[i].request);
                if (requests.size() % 10 == 0) others.emplace_back(own, 5, round).start();
                requests.push_back(many[i].request);
            }
            ASSERT_EQ(MPI_Waitall(length(requests), requests.data(), MPI_STATUSES_IGNORE), MPI_SUCCESS);
            for (Rounds& one : many) EXPECT_TRUE(one.right());
            for (Exchange& other : others) {
                MPI_Wait(&other.request, MPI_STATUS_IGNORE);
                EXPECT_TRUE(other.right());
            }
        }
    }
    MPI_Comm_free(&own);
}

TEST(Persistent, FreedWhileActive) {
    Rounds rounds(world, 100);
    rounds.fill(4);
    MPI_Comm_set_errhandler(world, MPI_ERRORS_RETURN);
    MPI_Start(&rounds.request);
    const int error = MPI_Request_free(&rounds.request);
    MPI_Comm_set_errhandler(world, MPI_ERRORS_ARE_FATAL);
    // Open MPI refuses it as long as the collective is not complete.
    EXPECT_EQ(error == MPI_SUCCESS, rounds.request == MPI_REQUEST_NULL);
#ifndef OPEN_MPI
    EXPECT_EQ(error, MPI_SUCCESS);
#endif
    if (error != MPI_SUCCESS) MPI_Wait(&rounds.request, MPI_STATUS_IGNORE);
    for (const double begin = MPI_Wtime(); !rounds.right() && MPI_Wtime() - begin < 60;) {
        int found = 0;
        MPI_Iprobe(MPI_ANY_SOURCE, 99, world, &found, MPI_STATUS_IGNORE);
    }
    EXPECT_TRUE(rounds.right());
    // Others may still wait for what this rank sends: its buffers must stay.
    MPI_Barrier(world);
}

TEST(Persistent, OutlivesItsCommunicator) {
    MPI_Comm own;
    MPI_Comm_dup(world, &own);
    Rounds rounds(own, 3);
    MPI_Comm_free(&own);
    for (int round = 0; round < 3; ++round) {
        rounds.fill(round);
        MPI_Start(&rounds.request);
        MPI_Wait(&rounds.request, MPI_STATUS_IGNORE);
        ASSERT_TRUE(rounds.right());
    }
}

// While the program waits for something else, in a call that is the MPI's alone.
TEST(Persistent, GoesOnInsideTheMpi) {
    if (size_of(world) < 2) GTEST_SKIP() << "needs two ranks";
    MPI_Request barrier;
    PERSISTENT(Barrier)(world, MPI_INFO_NULL, &barrier);
    for (int round = 0; round < 3; ++round) {
        MPI_Start(&barrier);
        int data = round;
        if (rank_in(world) == 0) {
            // Comes when the others have passed the barrier.
            for (int from = 1; from < size_of(world); ++from)
                MPI_Recv(&data, 1, MPI_INT, from, 6, world, MPI_STATUS_IGNORE);
            MPI_Wait(&barrier, MPI_STATUS_IGNORE);
        } else {
            MPI_Wait(&barrier, MPI_STATUS_IGNORE);
            MPI_Send(&data, 1, MPI_INT, 0, 6, world);
        }
    }
    MPI_Request_free(&barrier);
}

TEST(Persistent, AStartOfAnActiveOneIsRefused) {
    MPI_Comm returns;
    MPI_Comm_dup(world, &returns);
    MPI_Comm_set_errhandler(returns, MPI_ERRORS_RETURN);
    Rounds rounds(returns, 2);
    rounds.fill(0);
    ASSERT_EQ(MPI_Start(&rounds.request), MPI_SUCCESS);
    int error_class = MPI_SUCCESS;
    MPI_Error_class(MPI_Start(&rounds.request), &error_class);
    EXPECT_EQ(error_class, MPI_ERR_REQUEST);
    MPI_Wait(&rounds.request, MPI_STATUS_IGNORE);
    EXPECT_TRUE(rounds.right());
    MPI_Comm_free(&returns);
}

}  // namespace
