// A collective in flight goes on while the program is inside any other call of the MPI: correct programs,
// which would hang if lists moved only in Lapwing's own calls.
#include <mpi.h>

#include <cstdio>

#include "reference.hpp"
#include "support/unit.hpp"

namespace {

// Every rank but the last enters `call` before it waits for the collective that start(&request) starts; the
// last waits first. The collective can only complete if the others' lists move inside `call`, and `call` only
// after the last rank's wait.
template <typename Start, typename Call>
void call_inside(Start start, Call call) {
    MPI_Request request;
    start(&request);
    if (rank_in(world) == size_of(world) - 1) {
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        call();
    } else {
        call();
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
}

template <typename Call>
void call_inside_barrier(Call call) {
    call_inside([](MPI_Request* request) { MPI_Ibarrier(world, request); }, call);
}

// The call of all ranks but the last is receive(data, last), which needs a message of the last one.
template <typename Start, typename Receive>
void receive_inside(Start start, Receive receive) {
    const int last = size_of(world) - 1;
    call_inside(start, [&] {
        int data = 0;
        if (rank_in(world) != last) return receive(&data, last);
        for (int to = 0; to < last; ++to) MPI_Send(&data, 1, MPI_INT, to, 5, world);
    });
}

template <typename Receive>
void receive_inside_barrier(Receive receive) {
    receive_inside([](MPI_Request* request) { MPI_Ibarrier(world, request); }, receive);
}

void receive_by_call(int* data, int last) {
    MPI_Recv(data, 1, MPI_INT, last, 5, world, MPI_STATUS_IGNORE);
}

TEST(Progress, InsideReceive) {
    receive_inside_barrier(receive_by_call);
}

// Its ranks have not agreed on connections by another collective.
TEST(Progress, OfTheFirstCollectiveOfACommunicator) {
    const auto made_by = [](auto make) {
        MPI_Comm fresh = MPI_COMM_NULL;
        make(&fresh);
        receive_inside([&](MPI_Request* request) { MPI_Ibarrier(fresh, request); }, receive_by_call);
        MPI_Comm_free(&fresh);
    };
    made_by([](MPI_Comm* fresh) { MPI_Comm_dup(world, fresh); });
    made_by([](MPI_Comm* fresh) { MPI_Comm_split(world, 0, 0, fresh); });
    made_by([](MPI_Comm* fresh) {
        MPI_Request request;
        MPI_Comm_idup(world, fresh, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    });
    made_by([](MPI_Comm* fresh) {
        MPI_Info info;
        MPI_Info_create(&info);
        MPI_Info_set(info, "lapwing_algorithm", "ibarrier=dissemination");
        MPI_Comm_dup_with_info(world, info, fresh);
        MPI_Comm_set_info(*fresh, info);
        MPI_Info_free(&info);
    });
}

// What arrives is packed: it is complete only in a call of the program's.
TEST(Progress, OfDataThatMustBeUnpacked) {
    const int ranks = size_of(world);
    MPI_Datatype sparse;
    MPI_Type_vector(3, 1, 2, MPI_INT, &sparse);
    MPI_Type_commit(&sparse);
    const int mine = rank_in(world);
    const int sent[] = {mine, mine + 1, mine + 2};
    std::vector<int> received(static_cast<std::size_t>(6 * ranks), -1);
    const auto gather = [&](MPI_Request* request) {
        MPI_Datatype spaced;
        MPI_Type_create_resized(sparse, 0, 6 * sizeof(int), &spaced);
        MPI_Type_commit(&spaced);
        MPI_Iallgather(sent, 3, MPI_INT, received.data(), 1, spaced, world, request);
        MPI_Type_free(&spaced);
    };
    receive_inside(gather, receive_by_call);
    for (int i = 0; i < 6 * ranks; ++i)
        EXPECT_EQ(received[static_cast<std::size_t>(i)], i % 2 == 0 ? i / 6 + i % 6 / 2 : -1);
    MPI_Type_free(&sparse);
}

void sum(void* in, void* inout, int* count, MPI_Datatype*) {
    for (int i = 0; i < *count; ++i) static_cast<int*>(inout)[i] += static_cast<int*>(in)[i];
}

TEST(Progress, OfReductionsByAnOperatorOfTheProgram) {
    MPI_Op op;
    MPI_Op_create(sum, 1, &op);
    const int one = 1;
    int all = 0;
    receive_inside([&](MPI_Request* request) { MPI_Iallreduce(&one, &all, 1, MPI_INT, op, world, request); },
                   receive_by_call);
    EXPECT_EQ(all, size_of(world));
    MPI_Op_free(&op);
}

TEST(Progress, InsideProbe) {
    receive_inside_barrier([](int* data, int last) {
        MPI_Probe(last, 5, world, MPI_STATUS_IGNORE);
        MPI_Recv(data, 1, MPI_INT, last, 5, world, MPI_STATUS_IGNORE);
    });
}

TEST(Progress, InsideSend) {
    const int last = size_of(world) - 1;
    call_inside_barrier([&] {
        int data = 0;
        if (rank_in(world) == last)
            for (int from = 0; from < last; ++from)
                MPI_Recv(&data, 1, MPI_INT, from, 5, world, MPI_STATUS_IGNORE);
        else
            MPI_Ssend(&data, 1, MPI_INT, last, 5, world);
    });
}

TEST(Progress, InsideWaitForAnother) {
    receive_inside_barrier([](int* data, int last) {
        MPI_Request receive;
        MPI_Irecv(data, 1, MPI_INT, last, 5, world, &receive);
        MPI_Wait(&receive, MPI_STATUS_IGNORE);
    });
}

TEST(Progress, InsideBlockingCollectives) {
    call_inside_barrier([] { MPI_Barrier(world); });
    call_inside_barrier([] {
        int one = 1;
        int sum = 0;
        MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, world);
        EXPECT_EQ(sum, size_of(world));
    });
}

TEST(Progress, InsideCommunicatorCalls) {
    call_inside_barrier([] {
        MPI_Comm made;
        MPI_Comm_dup(world, &made);
        MPI_Comm_free(&made);
    });
    call_inside_barrier([] {
        MPI_Comm made;
        MPI_Comm_split(world, rank_in(world) % 2, 0, &made);
        MPI_Comm_free(&made);
    });
}

TEST(Progress, InsideWindowCalls) {
    // Open MPI 4.1.4 makes no windows in a job of one rank.
    if (size_of(world) == 1) GTEST_SKIP() << "needs two ranks";
    call_inside_barrier([] {
        int memory = 0;
        MPI_Win window;
        MPI_Win_create(&memory, sizeof memory, 1, MPI_INFO_NULL, world, &window);
        MPI_Win_fence(0, window);
        MPI_Win_fence(0, window);
        MPI_Win_free(&window);
    });
}

// The other way around: a rank waits for a collective that its peer enters only after a message which the MPI
// must move here, meanwhile.
TEST(Progress, OfTheMpiInsideAWait) {
    const int last = size_of(world) - 1;
    const bool sends = rank_in(world) == 0 && last > 0;
    std::vector<int> data(1'000'000, rank_in(world));
    MPI_Request message = MPI_REQUEST_NULL;
    MPI_Request barrier;
    if (sends) MPI_Isend(data.data(), static_cast<int>(data.size()), MPI_INT, last, 7, world, &message);
    if (rank_in(world) == last && last > 0) {
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        MPI_Recv(data.data(), static_cast<int>(data.size()), MPI_INT, 0, 7, world, MPI_STATUS_IGNORE);
        EXPECT_EQ(data.back(), 0);
    }
    MPI_Ibarrier(world, &barrier);
    MPI_Wait(&barrier, MPI_STATUS_IGNORE);
    MPI_Wait(&message, MPI_STATUS_IGNORE);
}

// With a progress thread: the program looks at its own memory, and calls nobody, until all of it has come.
TEST(Progress, ALongAlltoallComesToItsEndWithoutACall) {
    const char* const progress_thread = std::getenv("LAPWING_PROGRESS_THREAD");
    if (progress_thread == nullptr) GTEST_SKIP() << "runs with LAPWING_PROGRESS_THREAD";
    const int ranks = size_of(world);
    const int mine = rank_in(world);
    constexpr int count = 262144;  // 1 MiB for each rank
    for (int round = 1; round <= 3; ++round) {
        Exchange exchange(world, count, round);
        exchange.start();
        const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
        const volatile int* const here = exchange.received.data();
        const auto has_come = [&] {
            for (int from = ranks; from-- > 0;) {
                for (int i = count; i-- > 0;)
                    if (here[from * count + i] != value(from, mine, i, round)) return false;
            }
            return true;
        };
        bool complete = false;
        while (!(complete = has_come()) && std::chrono::steady_clock::now() < end)
            std::this_thread::sleep_for(std::chrono::microseconds(200));
        EXPECT_TRUE(complete) << "round " << round;
        MPI_Wait(&exchange.request, MPI_STATUS_IGNORE);
        EXPECT_TRUE(has_come());
    }
}

TEST(Progress, AStartDoesNotWaitForALateRank) {
    // The first collective of a communicator: nothing about it may wait for rank 0, which comes only after
    // the message of the last.
    MPI_Comm fresh;
    MPI_Comm_dup(world, &fresh);
    const int last = size_of(world) - 1;
    int data = 0;
    MPI_Request barrier;
    if (rank_in(world) == 0 && last > 0) MPI_Recv(&data, 1, MPI_INT, last, 6, world, MPI_STATUS_IGNORE);
    MPI_Ibarrier(fresh, &barrier);
    if (rank_in(world) == last && last > 0) MPI_Send(&data, 1, MPI_INT, 0, 6, world);
    MPI_Wait(&barrier, MPI_STATUS_IGNORE);
    MPI_Comm_free(&fresh);
}

// Ranks of one host: between hosts a message and a list may travel by different connections.
bool on_one_host() {
    MPI_Comm host = MPI_COMM_NULL;
    MPI_Comm_split_type(world, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host);
    const bool all = size_of(host) == size_of(world);
    MPI_Comm_free(&host);
    return all;
}

// A program looks once, after a barrier, for what its neighbour sent before.
TEST(Progress, OneLookAfterABarrierFindsWhatWasSentBefore) {
    if (size_of(world) == 1 || !on_one_host()) return;
    constexpr int count = 20;
    constexpr int last = count - 1;
    const int to = (rank_in(world) + 1) % size_of(world);
    const int from = (rank_in(world) + size_of(world) - 1) % size_of(world);
    int data[count];
    MPI_Request requests[count];
    int found = 0;
    int index = 0;
    const auto barrier = [] {
        MPI_Request request;
        MPI_Ibarrier(world, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    };
    const auto send = [&] {
        const int sent = 0;
        for (int tag = 0; tag < count; ++tag) MPI_Send(&sent, 1, MPI_INT, to, tag, world);
        barrier();
        found = 0;
    };
    const auto probed = [&](auto probe) {
        send();
        const int received = probe();
        for (int tag = 0; tag < count - received; ++tag)
            MPI_Recv(&data[tag], 1, MPI_INT, from, tag, world, MPI_STATUS_IGNORE);
        return found;
    };
    const auto tested = [&](auto test) {
        for (int tag = 0; tag < count; ++tag)
            MPI_Irecv(&data[tag], 1, MPI_INT, from, tag, world, &requests[tag]);
        send();
        test();
        MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
        return found;
    };
    EXPECT_TRUE(probed([&] {
        MPI_Iprobe(from, last, world, &found, MPI_STATUS_IGNORE);
        return 0;
    }));
    EXPECT_TRUE(probed([&] {
        MPI_Message message = MPI_MESSAGE_NULL;
        MPI_Improbe(from, last, world, &found, &message, MPI_STATUS_IGNORE);
        if (found) MPI_Mrecv(data, 1, MPI_INT, &message, MPI_STATUS_IGNORE);
        return found;
    }));
    EXPECT_TRUE(tested([&] { MPI_Test(&requests[last], &found, MPI_STATUS_IGNORE); }));
    EXPECT_TRUE(tested([&] { MPI_Testall(count, requests, &found, MPI_STATUSES_IGNORE); }));
    EXPECT_TRUE(tested([&] { MPI_Testany(1, &requests[last], &index, &found, MPI_STATUS_IGNORE); }));
    EXPECT_TRUE(tested([&] { MPI_Testsome(1, &requests[last], &found, &index, MPI_STATUSES_IGNORE); }));
    EXPECT_TRUE(tested([&] { MPI_Request_get_status(requests[last], &found, MPI_STATUS_IGNORE); }));

    MPI_Win window = MPI_WIN_NULL;
    MPI_Group group = MPI_GROUP_NULL;
    MPI_Win_create(data, sizeof data, 1, MPI_INFO_NULL, world, &window);
    MPI_Win_get_group(window, &group);
    MPI_Win_post(group, 0, window);
    MPI_Win_start(group, 0, window);
    MPI_Win_complete(window);
    barrier();
    MPI_Win_test(window, &found);
    EXPECT_TRUE(found);
    if (!found) MPI_Win_wait(window);
    MPI_Group_free(&group);
    MPI_Win_free(&window);
}

}  // namespace
