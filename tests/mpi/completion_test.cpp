// Every call that completes requests, with Lapwing's requests, the MPI's own and persistent ones mixed.
#include <gtest/gtest.h>
#include <mpi.h>

#include <deque>
#include <vector>

#include "reference.hpp"

namespace {

// k alltoalls, and to both neighbours a message each way, one of them persistent.
class Mixture {
  public:
    explicit Mixture(int exchanges) {
        const int ranks = size_of(world);
        const int rank = rank_in(world);
        above_ = (rank + 1) % ranks;
        below_ = (rank + ranks - 1) % ranks;
        for (int i = 0; i < exchanges; ++i) exchanges_.emplace_back(world, 50, i);
        sent_[0] = sent_[1] = rank;
        MPI_Send_init(&sent_[1], 1, MPI_INT, above_, 2, world, &persistent_send_);
        MPI_Recv_init(&received_[1], 1, MPI_INT, below_, 2, world, &persistent_receive_);
    }
    ~Mixture() {
        MPI_Request_free(&persistent_send_);
        MPI_Request_free(&persistent_receive_);
    }
    // In one array: ours and theirs in turn, and one that is null.
    std::vector<MPI_Request> start() {
        received_[0] = received_[1] = -1;
        std::vector<MPI_Request> requests;
        MPI_Request request;
        for (Exchange& exchange : exchanges_) {
            exchange.start();
            requests.push_back(exchange.request);
        }
        MPI_Irecv(&received_[0], 1, MPI_INT, below_, 1, world, &request);
        requests.insert(requests.begin() + 1, request);
        MPI_Isend(&sent_[0], 1, MPI_INT, above_, 1, world, &request);
        requests.push_back(request);
        requests.push_back(MPI_REQUEST_NULL);
        MPI_Start(&persistent_receive_);
        MPI_Start(&persistent_send_);
        requests.push_back(persistent_send_);
        requests.insert(requests.begin(), persistent_receive_);
        return requests;
    }
    void check() const {
        for (const Exchange& exchange : exchanges_) EXPECT_TRUE(exchange.right());
        EXPECT_EQ(received_[0], below_);
        EXPECT_EQ(received_[1], below_);
    }
    bool is_persistent(MPI_Request request) const {
        return request == persistent_send_ || request == persistent_receive_;
    }
    void expect_all_done(const std::vector<MPI_Request>& requests) const {
        for (const MPI_Request request : requests)
            EXPECT_TRUE(request == MPI_REQUEST_NULL || is_persistent(request));
    }

  private:
    std::deque<Exchange> exchanges_;
    int above_;
    int below_;
    int sent_[2];
    int received_[2];
    MPI_Request persistent_send_;
    MPI_Request persistent_receive_;
};

TEST(Completion, Waitall) {
    Mixture mixture(3);
    for (int round = 0; round < 3; ++round) {
        std::vector<MPI_Request> requests = mixture.start();
        std::vector<MPI_Status> statuses(requests.size());
        ASSERT_EQ(MPI_Waitall(static_cast<int>(requests.size()), requests.data(), statuses.data()),
                  MPI_SUCCESS);
        mixture.check();
        mixture.expect_all_done(requests);
    }
}

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

TEST(Completion, Testall) {
    Mixture mixture(2);
    std::vector<MPI_Request> requests = mixture.start();
    for (int flag = 0; !flag;) {
        ASSERT_EQ(MPI_Testall(static_cast<int>(requests.size()), requests.data(), &flag, MPI_STATUSES_IGNORE),
                  MPI_SUCCESS);
    }
    mixture.check();
    mixture.expect_all_done(requests);
}

TEST(Completion, WaitanyUntilNothingIsLeft) {
    Mixture mixture(4);
    std::vector<MPI_Request> requests = mixture.start();
    int completed = 0;
    for (;;) {
        int index = -1;
        MPI_Status status;
        ASSERT_EQ(MPI_Waitany(static_cast<int>(requests.size()), requests.data(), &index, &status),
                  MPI_SUCCESS);
        if (index == MPI_UNDEFINED) break;
        ++completed;
    }
    EXPECT_EQ(completed, 8);
    mixture.check();
}

TEST(Completion, WaitsomeUntilNothingIsLeft) {
    Mixture mixture(4);
    std::vector<MPI_Request> requests = mixture.start();
    std::vector<int> indices(requests.size());
    std::vector<MPI_Status> statuses(requests.size());
    int completed = 0;
    for (;;) {
        int some = -1;
        ASSERT_EQ(MPI_Waitsome(static_cast<int>(requests.size()), requests.data(), &some, indices.data(),
                               statuses.data()),
                  MPI_SUCCESS);
        if (some == MPI_UNDEFINED) break;
        EXPECT_GT(some, 0);
        completed += some;
    }
    EXPECT_EQ(completed, 8);
    mixture.check();
}

TEST(Completion, TestanyAndTestsome) {
    Mixture mixture(4);
    std::vector<MPI_Request> requests = mixture.start();
    const int count = static_cast<int>(requests.size());
    std::vector<int> indices(requests.size());
    int completed = 0;
    while (completed < 8) {
        int index = -1;
        int flag = 0;
        ASSERT_EQ(MPI_Testany(count, requests.data(), &index, &flag, MPI_STATUS_IGNORE), MPI_SUCCESS);
        if (flag && index != MPI_UNDEFINED) ++completed;
        int some = 0;
        ASSERT_EQ(MPI_Testsome(count, requests.data(), &some, indices.data(), MPI_STATUSES_IGNORE),
                  MPI_SUCCESS);
        if (some != MPI_UNDEFINED) completed += some;
    }
    EXPECT_EQ(completed, 8);
    mixture.check();
}

TEST(Completion, AnyOrderOfWaitsOnSeveralCommunicators) {
    MPI_Comm halves;
    MPI_Comm again;
    MPI_Comm_split(world, rank_in(world) % 2, rank_in(world), &halves);
    MPI_Comm_dup(world, &again);
    for (int round = 0; round < 20; ++round) {
        std::deque<Exchange> exchanges;
        const MPI_Comm communicators[] = {world, halves, again};
        for (int i = 0; i < 9; ++i) exchanges.emplace_back(communicators[i % 3], 20 + i, round).start();
        // Each rank waits in an order of its own.
        for (int i = 0; i < 9; ++i) {
            Exchange& exchange =
                exchanges[static_cast<std::size_t>((i * 4 + rank_in(world) * 5 + round) % 9)];
            ASSERT_EQ(MPI_Wait(&exchange.request, MPI_STATUS_IGNORE), MPI_SUCCESS);
            EXPECT_TRUE(exchange.right());
        }
    }
    MPI_Comm_free(&halves);
    MPI_Comm_free(&again);
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
