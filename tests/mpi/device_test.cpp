// Collectives with buffers in the memory of a device: what is copied and when, buffers in both kinds of
// memory, and errors of the driver. fuzz.cpp has every collective with such buffers.
#include <mpi.h>

#include "device_memory.hpp"
#include "reference.hpp"
#include "support/unit.hpp"

namespace {

using Ints = Buffer<int>;

std::vector<int> of_rank(int rank, int count, int seed) {
    std::vector<int> made;
    for (int i = 0; i < count; ++i) made.push_back(value(rank, seed, i));
    return made;
}
std::vector<int> ints(int count, int seed) {
    return of_rank(rank_in(world), count, seed);
}

// What the driver has copied since.
struct Copied {
    unsigned long long to_host = Cuda::get().bytes_to_host();
    unsigned long long to_device = Cuda::get().bytes_to_device();
    unsigned long long bytes_to_host() const { return Cuda::get().bytes_to_host() - to_host; }
    unsigned long long bytes_to_device() const { return Cuda::get().bytes_to_device() - to_device; }
};

void wait(MPI_Request& request) {
    EXPECT_EQ(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
}

TEST(DeviceCopies, OnlyWhatIsSentAndReceived) {
    const int rank = rank_in(world);
    const auto ranks = static_cast<unsigned long long>(size_of(world));
    MPI_Request request;
    {
        Ints data(true, ints(10, 1));
        const Copied copied;
        MPI_Ibcast(data.data(), 10, MPI_INT, 0, world, &request);
        wait(request);
        EXPECT_EQ(copied.bytes_to_host(), rank == 0 && ranks > 1 ? 40U : 0U);
        EXPECT_EQ(copied.bytes_to_device(), rank == 0 ? 0U : 40U);
        EXPECT_EQ(data.content(), of_rank(0, 10, 1));
    }
    {
        Ints own(true, ints(10, 1));
        Ints all(true, ints(10 * size_of(world), 2));
        const Copied copied;
        MPI_Igather(own.data(), 10, MPI_INT, all.data(), 10, MPI_INT, 0, world, &request);
        wait(request);
        EXPECT_EQ(copied.bytes_to_host(), 40U);
        EXPECT_EQ(copied.bytes_to_device(), rank == 0 ? ranks * 40 : 0U);
    }
    {
        Ints data(true, ints(10, 1));
        const Copied copied;
        MPI_Iallreduce(MPI_IN_PLACE, data.data(), 10, MPI_INT, MPI_SUM, world, &request);
        wait(request);
        EXPECT_EQ(copied.bytes_to_host(), 40U);
        EXPECT_EQ(copied.bytes_to_device(), 40U);
    }
    {
        // A start reads the send buffer and nothing else.
        Ints sent(true, ints(10, 1));
        Ints received(true, ints(10, 2));
        const Copied copied;
        MPI_Iallreduce(sent.data(), received.data(), 10, MPI_INT, MPI_MIN, world, &request);
        EXPECT_EQ(copied.bytes_to_host(), 40U);
        wait(request);
        EXPECT_EQ(copied.bytes_to_host(), 40U);
        EXPECT_EQ(copied.bytes_to_device(), 40U);
    }
}

TEST(DeviceCopies, NoneOfMemoryThatTheProcessorMayUse) {
    const Cuda& cuda = Cuda::get();
    std::vector<int> host = ints(1000, 1);
    auto* const managed = static_cast<int*>(cuda.allocate_managed(4000));
    auto* const pinned = static_cast<int*>(cuda.allocate_pinned(4000));
    std::copy(host.begin(), host.end(), managed);
    const Copied copied;
    MPI_Request request;
    MPI_Iallreduce(managed, pinned, 1000, MPI_INT, MPI_SUM, world, &request);
    wait(request);
    std::vector<int> expected(1000);
    PMPI_Allreduce(host.data(), expected.data(), 1000, MPI_INT, MPI_SUM, world);
    EXPECT_EQ(std::vector<int>(pinned, pinned + 1000), expected);
    EXPECT_EQ(copied.bytes_to_host() + copied.bytes_to_device(), 0U);
}

TEST(DeviceCopies, LeaveTheContextAsItWas) {
    const Cuda& cuda = Cuda::get();
    void* const own = cuda.context();
    ASSERT_NE(own, nullptr);
    Ints data(true, ints(10, 1));
    for (void* const before : {own, static_cast<void*>(nullptr)}) {
        cuda.set_context(before);
        MPI_Request request;
        MPI_Iallreduce(MPI_IN_PLACE, data.data(), 10, MPI_INT, MPI_SUM, world, &request);
        EXPECT_EQ(cuda.context(), before);
        wait(request);
        EXPECT_EQ(cuda.context(), before);
        cuda.set_context(own);
    }
}

TEST(DeviceCalls, WithLongBuffers) {
    for (const int count : {100'000, 700'000}) {
        Ints data(true, ints(count, 1));
        Ints greatest(true, ints(count, 2));
        std::vector<int> expected = ints(count, 2);
        MPI_Request requests[2];
        MPI_Ibcast(data.data(), count, MPI_INT, 0, world, &requests[0]);
        MPI_Iallreduce(MPI_IN_PLACE, greatest.data(), count, MPI_INT, MPI_MAX, world, &requests[1]);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        EXPECT_EQ(data.content(), of_rank(0, count, 1));
        PMPI_Allreduce(MPI_IN_PLACE, expected.data(), count, MPI_INT, MPI_MAX, world);
        EXPECT_EQ(greatest.content(), expected);
    }
}

// The blocking forms, which Lapwing takes when it is told to.
TEST(DeviceCalls, ThatBlock) {
    if (std::getenv("LAPWING_BLOCKING") == nullptr) GTEST_SKIP() << "the native MPI has them";
    Ints data(true, ints(10, 3));
    std::vector<int> expected = ints(10, 3);
    PMPI_Allreduce(MPI_IN_PLACE, expected.data(), 10, MPI_INT, MPI_SUM, world);
    MPI_Allreduce(MPI_IN_PLACE, data.data(), 10, MPI_INT, MPI_SUM, world);
    EXPECT_EQ(data.content(), expected);
}

TEST(DeviceCalls, ColumnsOfOneMatrixInFlightTogether) {
    constexpr int rows = 50;
    constexpr int columns = 4;
    const int ranks = size_of(world);
    Ints matrix(true, ints(rows * columns, 1));
    std::vector<int> expected = ints(rows * columns, 1);
    MPI_Datatype column;
    MPI_Type_vector(rows, 1, columns, MPI_INT, &column);
    MPI_Type_commit(&column);
    MPI_Request requests[columns];
    for (int c = 0; c < columns; ++c) {
        MPI_Ibcast(matrix.data() + c, 1, column, c % ranks, world, &requests[c]);
        PMPI_Bcast(expected.data() + c, 1, column, c % ranks, world);
    }
    MPI_Type_free(&column);
    MPI_Waitall(columns, requests, MPI_STATUSES_IGNORE);
    EXPECT_EQ(matrix.content(), expected);
}

// One element in several places of both kinds of memory.
TEST(DeviceCalls, AnElementInSeveralAllocations) {
    for (const unsigned which : {0b001U, 0b010U, 0b101U, 0b111U}) {
        std::vector<std::unique_ptr<Ints>> pieces;
        MPI_Aint addresses[3];
        MPI_Datatype holed;
        MPI_Type_vector(2, 1, 3, MPI_INT, &holed);
        const int lengths[] = {2, 1, 3};
        const MPI_Datatype types[] = {MPI_INT, holed, MPI_INT};
        for (int i = 0; i < 3; ++i) {
            pieces.push_back(std::make_unique<Ints>((which >> i & 1U) != 0, ints(6, i)));
            MPI_Get_address(pieces.back()->data() + 1, &addresses[i]);
        }
        MPI_Datatype type;
        MPI_Type_create_struct(3, lengths, addresses, types, &type);
        MPI_Type_commit(&type);
        MPI_Request request;
        MPI_Ibcast(MPI_BOTTOM, 1, type, 0, world, &request);
        MPI_Type_free(&type);
        MPI_Type_free(&holed);
        wait(request);
        const std::vector<int> at[] = {{1, 2}, {1, 4}, {1, 2, 3}};
        for (int i = 0; i < 3; ++i) {
            std::vector<int> expected = ints(6, i);
            for (const int place : at[i]) expected[static_cast<std::size_t>(place)] = value(0, i, place);
            EXPECT_EQ(pieces[static_cast<std::size_t>(i)]->content(), expected) << which << " " << i;
        }
    }
}

// Each block of an MPI_Ialltoallw is somewhere else.
TEST(DeviceCalls, BlocksInBothKindsOfMemory) {
    const int ranks = size_of(world);
    const int rank = rank_in(world);
    std::vector<std::unique_ptr<Ints>> sent;
    std::vector<std::unique_ptr<Ints>> received;
    std::vector<MPI_Datatype> send_types;
    std::vector<MPI_Datatype> receive_types;
    const auto at = [](Ints& buffer) {
        MPI_Aint address = 0;
        MPI_Get_address(buffer.data(), &address);
        const int length = 3;
        MPI_Datatype type;
        MPI_Type_create_hindexed(1, &length, &address, MPI_INT, &type);
        MPI_Type_commit(&type);
        return type;
    };
    for (int i = 0; i < ranks; ++i) {
        sent.push_back(std::make_unique<Ints>((i + rank) % 2 == 0, ints(3, i)));
        received.push_back(std::make_unique<Ints>((i + rank) % 3 == 0, ints(3, 99)));
        send_types.push_back(at(*sent.back()));
        receive_types.push_back(at(*received.back()));
    }
    const std::vector<int> ones(static_cast<std::size_t>(ranks), 1);
    const std::vector<int> zeros(static_cast<std::size_t>(ranks), 0);
    MPI_Request request;
    MPI_Ialltoallw(MPI_BOTTOM, ones.data(), zeros.data(), send_types.data(), MPI_BOTTOM, ones.data(),
                   zeros.data(), receive_types.data(), world, &request);
    wait(request);
    for (int i = 0; i < ranks; ++i) {
        EXPECT_EQ(received[static_cast<std::size_t>(i)]->content(), of_rank(i, 3, rank));
        MPI_Type_free(&send_types[static_cast<std::size_t>(i)]);
        MPI_Type_free(&receive_types[static_cast<std::size_t>(i)]);
    }
}

TEST(DeviceCalls, CompletedInAThreadWithoutAContext) {
    int provided = 0;
    MPI_Query_thread(&provided);
    if (provided != MPI_THREAD_MULTIPLE) GTEST_SKIP();
    Ints data(true, ints(8, 1));
    std::vector<int> expected = ints(8, 1);
    PMPI_Allreduce(MPI_IN_PLACE, expected.data(), 8, MPI_INT, MPI_SUM, world);
    for (const bool starts : {false, true}) {
        data.write(ints(8, 1));
        MPI_Request request;
        const auto start = [&] {
            MPI_Iallreduce(MPI_IN_PLACE, data.data(), 8, MPI_INT, MPI_SUM, world, &request);
        };
        if (!starts) start();
        std::thread([&] {
            if (starts) start();
            wait(request);
            EXPECT_EQ(Cuda::get().context(), nullptr);
        }).join();
        EXPECT_EQ(data.content(), expected);
    }
}

// A communicator whose errors come back.
class DeviceErrors : public testing::Test {
  protected:
    void SetUp() override {
        MPI_Comm_dup(world, &comm);
        MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
        // The MPI reports those of requests that another thread's progress has given to it.
        MPI_Comm_set_errhandler(world, MPI_ERRORS_RETURN);
    }
    void TearDown() override {
        MPI_Comm_set_errhandler(world, MPI_ERRORS_ARE_FATAL);
        MPI_Comm_free(&comm);
    }
    static std::string text_of(int error) {
        char text[MPI_MAX_ERROR_STRING + 1] = "";
        int length = 0;
        MPI_Error_string(error, text, &length);
        return text;
    }
    MPI_Comm comm = MPI_COMM_NULL;
};

TEST_F(DeviceErrors, OfACopyFromTheDeviceIsTheRequests) {
    const int rank = rank_in(world);
    const int ranks = size_of(world);
    for (int round = 0; round < 2; ++round) {
        Ints own(true, ints(4, round));
        Ints all(true, ints(4 * ranks, 5));
        if (rank == 0 && round == 0) Cuda::get().fail("cuMemcpyDtoHAsync_v2", 700, 1);
        MPI_Request request;
        ASSERT_EQ(MPI_Iallgather(own.data(), 4, MPI_INT, all.data(), 4, MPI_INT, comm, &request),
                  MPI_SUCCESS);
        const int error = MPI_Wait(&request, MPI_STATUS_IGNORE);
        if (rank == 0 && round == 0) {
            EXPECT_NE(error, MPI_SUCCESS);
            EXPECT_EQ(text_of(error),
                      "lapwing: device memory: cuMemcpyDtoHAsync of 16 bytes: CUDA_ERROR_ILLEGAL_ADDRESS (by "
                      "the double of "
                      "the driver)");
            EXPECT_EQ(all.content(), ints(4 * ranks, 5));
            continue;
        }
        EXPECT_EQ(error, MPI_SUCCESS);
        const std::vector<int> found = all.content();
        for (int from = round == 0 ? 1 : 0; from < ranks; ++from) {
            EXPECT_EQ(std::vector<int>(found.begin() + 4 * from, found.begin() + 4 * from + 4),
                      of_rank(from, 4, round));
        }
    }
}

TEST_F(DeviceErrors, OfACopyToTheDeviceIsTheRequests) {
    Ints data(true, ints(4, 1));
    for (const char* function : {"cuMemcpyHtoDAsync_v2", "cuCtxPushCurrent_v2", "cuStreamSynchronize"}) {
        MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
        std::vector<int> sent = ints(4, 1);
        ASSERT_EQ(MPI_Iallreduce(sent.data(), data.data(), 4, MPI_INT, MPI_SUM, comm, &requests[0]),
                  MPI_SUCCESS);
        if (size_of(world) == 1 && Cuda::get().bytes_to_device() == 0) GTEST_SKIP();
        Cuda::get().fail(function, 1, 1);
        MPI_Status statuses[2];
        const int error = MPI_Waitall(2, requests, statuses);
        Cuda::get().fail(function, 0, 0);
        if (error == MPI_ERR_IN_STATUS) {
            EXPECT_NE(text_of(statuses[0].MPI_ERROR).find("CUDA_ERROR_INVALID_VALUE"), std::string::npos)
                << function;
        } else {
            EXPECT_NE(text_of(error).find("CUDA_ERROR_INVALID_VALUE"), std::string::npos) << function;
        }
    }
    MPI_Request request;
    MPI_Ibcast(data.data(), 4, MPI_INT, 0, comm, &request);
    wait(request);
}

TEST_F(DeviceErrors, OfAQuestionIsTheCalls) {
    Ints data(true, ints(4, 1));
    Cuda::get().fail("cuPointerGetAttributes", 700, 1);
    MPI_Request request = MPI_REQUEST_NULL;
    const int error = MPI_Iallreduce(MPI_IN_PLACE, data.data(), 4, MPI_INT, MPI_SUM, comm, &request);
    EXPECT_EQ(text_of(error),
              "lapwing: device memory: cuPointerGetAttributes: CUDA_ERROR_ILLEGAL_ADDRESS (by the double of "
              "the driver)");
    Cuda::get().fail("cuPointerGetAttributes", 700, 1);
    const std::vector<int> counts(static_cast<std::size_t>(size_of(world)), 0);
    std::vector<int> ones = counts;
    ones[0] = 4;
    const int other = MPI_Ialltoallv(data.data(), ones.data(), counts.data(), MPI_INT, data.data(),
                                     counts.data(), counts.data(), MPI_INT, comm, &request);
    EXPECT_NE(text_of(other).find("cuPointerGetAttributes"), std::string::npos);
}

TEST_F(DeviceErrors, OfABufferThatIsTooShort) {
    Ints data(true, ints(4, 1));
    MPI_Request request = MPI_REQUEST_NULL;
    const int error = MPI_Iallreduce(MPI_IN_PLACE, data.data() + 1, 4, MPI_INT, MPI_SUM, comm, &request);
    EXPECT_EQ(text_of(error),
              "lapwing: device memory: a buffer of 16 bytes ends 4 bytes past the end of its allocation");
}

}  // namespace
