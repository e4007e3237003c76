// MPI_THREAD_MULTIPLE: threads that start, test and wait on communicators of their own at the same time.
#include <mpi.h>

#include "persistent_forms.hpp"
#include "reference.hpp"
#include "support/unit.hpp"

namespace {

bool may_call_at_once() {
    int provided = 0;
    MPI_Query_thread(&provided);
    return provided == MPI_THREAD_MULTIPLE;
}

// Runs work(number of the thread, its communicator, wrong results) in several threads.
template <typename Work>
void in_threads(Work work) {
    MPI_Comm communicators[3];
    for (MPI_Comm& communicator : communicators) MPI_Comm_dup(MPI_COMM_WORLD, &communicator);
    std::atomic<int> wrong{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 3; ++t) threads.emplace_back([&, t] { work(t, communicators[t], wrong); });
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(wrong, 0);
    for (MPI_Comm& communicator : communicators) MPI_Comm_free(&communicator);
}

TEST(Threads, EachWithItsCommunicator) {
    if (!may_call_at_once()) GTEST_SKIP() << "runs with --threads";
    in_threads([](int t, MPI_Comm communicator, std::atomic<int>& wrong) {
        for (int round = 0; round < 10; ++round) {
            Exchange exchange(communicator, 10 + t, round);
            exchange.start();
            MPI_Request barrier;
            MPI_Ibarrier(communicator, &barrier);
            if (round % 2 == 0)
                MPI_Wait(&exchange.request, MPI_STATUS_IGNORE);
            else
                for (int flag = 0; !flag;) MPI_Test(&exchange.request, &flag, MPI_STATUS_IGNORE);
            // A call that is not Lapwing's, while another thread is inside Lapwing.
            int one = 1;
            int sum = 0;
            MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, communicator);
            MPI_Wait(&barrier, MPI_STATUS_IGNORE);
            if (!exchange.right() || sum != size_of(communicator)) ++wrong;
        }
    });
}

TEST(Threads, EachWithItsPersistentCollective) {
    if (!may_call_at_once()) GTEST_SKIP() << "runs with --threads";
    in_threads([](int t, MPI_Comm communicator, std::atomic<int>& wrong) {
        int one = 0;
        int sum = 0;
        MPI_Request request;
        PERSISTENT(Allreduce)(&one, &sum, 1, MPI_INT, MPI_SUM, communicator, MPI_INFO_NULL, &request);
        for (int round = 0; round < 10; ++round) {
            one = round + t;
            MPI_Start(&request);
            if (round % 3 == 0) {
                MPI_Wait(&request, MPI_STATUS_IGNORE);
            } else if (round % 3 == 1) {
                for (int flag = 0; !flag;) MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
            } else {
                int index = 0;
                MPI_Waitany(1, &request, &index, MPI_STATUS_IGNORE);
            }
            if (sum != one * size_of(communicator)) ++wrong;
        }
        MPI_Request_free(&request);
    });
}

TEST(Threads, OneStartsAnotherWaits) {
    if (!may_call_at_once()) GTEST_SKIP() << "runs with --threads";
    for (int round = 0; round < 20; ++round) {
        Exchange exchange(MPI_COMM_WORLD, 100, round);
        std::thread([&] { exchange.start(); }).join();
        MPI_Wait(&exchange.request, MPI_STATUS_IGNORE);
        EXPECT_TRUE(exchange.right());
    }
}

}  // namespace
