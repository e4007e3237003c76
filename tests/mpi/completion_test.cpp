// What calls that complete nonblocking collectives do besides: statuses, requests that are cancelled or
// freed, and many of them. fuzz.cpp mixes all kinds of requests.
#include <dlfcn.h>
#include <mpi.h>

#include "reference.hpp"
#include "support/unit.hpp"

namespace {

TEST(Completion, WaitallOfCollectivesOnly) {
    std::deque<Exchange> exchanges;
    std::vector<MPI_Request> requests;
    for (int i = 0; i < 20; ++i) {
        exchanges.emplace_back(world, 3, i).start();
        requests.push_back(exchanges.back().request);
    }
    std::vector<MPI_Status> statuses(requests.size());
    ASSERT_EQ(MPI_Waitall(20, requests.data(), statuses.data()), MPI_SUCCESS);
    for (std::size_t i = 0; i < 20; ++i) {
        EXPECT_EQ(requests[i], MPI_REQUEST_NULL);
        EXPECT_TRUE(exchanges[i].right());
        int count = -1;
        MPI_Get_count(&statuses[i], MPI_BYTE, &count);
        EXPECT_EQ(count, 0);
        int cancelled = -1;
        MPI_Test_cancelled(&statuses[i], &cancelled);
        EXPECT_EQ(cancelled, 0);
    }
}

TEST(Completion, GetStatusLeavesTheRequest) {
    Exchange exchange(world, 10);
    exchange.start();
    for (int flag = 0; !flag;)
        ASSERT_EQ(MPI_Request_get_status(exchange.request, &flag, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_NE(exchange.request, MPI_REQUEST_NULL);
    EXPECT_TRUE(exchange.right());
    int flag = 0;
    MPI_Test(&exchange.request, &flag, MPI_STATUS_IGNORE);
    EXPECT_EQ(flag, 1);
    EXPECT_EQ(exchange.request, MPI_REQUEST_NULL);
    // A null request is complete, and so is a wait for it.
    MPI_Test(&exchange.request, &flag, MPI_STATUS_IGNORE);
    EXPECT_EQ(flag, 1);
    EXPECT_EQ(MPI_Wait(&exchange.request, MPI_STATUS_IGNORE), MPI_SUCCESS);
}

// Since MPI 4.1; the MPI of the process may be newer than mpi.h.
TEST(Completion, GetStatusOfAll) {
    using GetStatusOfAll = int(int, const MPI_Request*, int*, MPI_Status*);
    auto* const get_status =
        reinterpret_cast<GetStatusOfAll*>(::dlsym(RTLD_DEFAULT, "MPI_Request_get_status_all"));
    int major = 0;
    int minor = 0;
    MPI_Get_version(&major, &minor);
    if (get_status == nullptr || 10 * major + minor < 41) GTEST_SKIP() << "the MPI has no such function";
    Exchange exchange(world, 10);
    exchange.start();
    for (int flag = 0; !flag;)
        ASSERT_EQ(get_status(1, &exchange.request, &flag, MPI_STATUSES_IGNORE), MPI_SUCCESS);
    EXPECT_TRUE(exchange.right());
    MPI_Wait(&exchange.request, MPI_STATUS_IGNORE);
}

TEST(Completion, OneThatIsFreedOrCancelledInVainGoesOn) {
    MPI_Comm_set_errhandler(world, MPI_ERRORS_RETURN);
    Exchange exchange(world, 10);
    const int all = size_of(world);
    // Not complete before this rank has said so to the next.
    if (rank_in(world) > 0) MPI_Recv(nullptr, 0, MPI_BYTE, rank_in(world) - 1, 98, world, MPI_STATUS_IGNORE);
    exchange.start();
    EXPECT_NE(MPI_Cancel(&exchange.request), MPI_SUCCESS);
    EXPECT_NE(exchange.request, MPI_REQUEST_NULL);
    if (rank_in(world) + 1 < all) {
        // MPICH 5 lets it complete without a request.
        const int error = MPI_Request_free(&exchange.request);
        EXPECT_EQ(error == MPI_SUCCESS, exchange.request == MPI_REQUEST_NULL);
        MPI_Send(nullptr, 0, MPI_BYTE, rank_in(world) + 1, 98, world);
    }
    MPI_Comm_set_errhandler(world, MPI_ERRORS_ARE_FATAL);
    MPI_Wait(&exchange.request, MPI_STATUS_IGNORE);
    for (const double begin = MPI_Wtime(); !exchange.right() && MPI_Wtime() - begin < 60;) {
        int found = 0;
        MPI_Iprobe(MPI_ANY_SOURCE, 99, world, &found, MPI_STATUS_IGNORE);
    }
    EXPECT_TRUE(exchange.right());
}

TEST(Completion, ManyInFlight) {
    std::deque<Exchange> exchanges;
    for (int i = 0; i < 500; ++i) exchanges.emplace_back(world, 2, i).start();
    for (std::size_t i = exchanges.size(); i-- > 0;) {
        MPI_Wait(&exchanges[i].request, MPI_STATUS_IGNORE);
        ASSERT_TRUE(exchanges[i].right());
    }
}

TEST(Completion, APlanMayBeForgottenBeforeTheWait) {
    Exchange first(world, 3);
    first.start();
    // More shapes than plans are kept, each completed while the first, complete as well, is not asked for.
    for (int count = 4; count < 300; ++count) {
        Exchange other(world, count);
        other.start();
        MPI_Wait(&other.request, MPI_STATUS_IGNORE);
        ASSERT_TRUE(other.right());
    }
    MPI_Wait(&first.request, MPI_STATUS_IGNORE);
    EXPECT_TRUE(first.right());
}

// Generalized requests of the program's own are not Lapwing's.
int query(void*, MPI_Status* status) {
    MPI_Status_set_elements(status, MPI_BYTE, 0);
    MPI_Status_set_cancelled(status, 0);
    status->MPI_SOURCE = 17;
    return MPI_SUCCESS;
}
int nothing(void*) {
    return MPI_SUCCESS;
}
int no_cancel(void*, int) {
    return MPI_SUCCESS;
}

TEST(Completion, TheProgramsOwnGeneralizedRequest) {
    MPI_Request requests[2];
    MPI_Grequest_start(query, nothing, no_cancel, nullptr, &requests[0]);
    MPI_Ibarrier(world, &requests[1]);
    MPI_Grequest_complete(requests[0]);
    MPI_Status statuses[2];
    ASSERT_EQ(MPI_Waitall(2, requests, statuses), MPI_SUCCESS);
    EXPECT_EQ(statuses[0].MPI_SOURCE, 17);
}

}  // namespace
