// Datatypes, places and counts, through an unmodified program's calls: what the random collectives of
// fuzz.cpp leave out.
#include <mpi.h>

#include "operator_table.hpp"
#include "reference.hpp"
#include "support/unit.hpp"

namespace {

void wait(MPI_Request* request) {
    EXPECT_EQ(MPI_Wait(request, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_EQ(*request, MPI_REQUEST_NULL);
}

TEST(Data, PredefinedTypes) {
    std::vector<MPI_Datatype> types = {MPI_CHAR, MPI_WCHAR};
    for (const operator_table::TypeRow& row : operator_table::types()) types.push_back(row.type);
    const int ranks = size_of(world);
    for (const MPI_Datatype type : types) {
        MPI_Aint lower;
        MPI_Aint extent;
        MPI_Type_get_extent(type, &lower, &extent);
        const std::size_t bytes = static_cast<std::size_t>(extent) * 3 * static_cast<std::size_t>(ranks);
        // Same holes as the blocking form leaves: compare with it.
        std::vector<unsigned char> sent(bytes, static_cast<unsigned char>(rank_in(world) + 1));
        std::vector<unsigned char> ours(bytes, 0xee);
        std::vector<unsigned char> theirs(bytes, 0xee);
        MPI_Request request;
        MPI_Ialltoall(sent.data(), 3, type, ours.data(), 3, type, world, &request);
        wait(&request);
        PMPI_Alltoall(sent.data(), 3, type, theirs.data(), 3, type, world);
        EXPECT_EQ(ours, theirs);
    }
}

#if MPI_VERSION >= 4
// MPI gives their contents in another form.
TEST(Data, TypesWithLargeCounts) {
    MPI_Datatype type;
    MPI_Type_vector_c(3, 2, 4, MPI_INT, &type);
    MPI_Type_commit(&type);
    const bool is_root = rank_in(world) == 0;
    std::vector<int> data(10, is_root ? 5 : 0);
    MPI_Request request;
    MPI_Ibcast(data.data(), 1, type, 0, world, &request);
    MPI_Type_free(&type);
    wait(&request);
    const int hole = is_root ? 5 : 0;
    EXPECT_EQ(data, (std::vector<int>{5, 5, hole, hole, 5, 5, hole, hole, 5, 5}));
}
#endif

// MPI forbids that a collective's buffers overlap, and MPIs do not see it everywhere: the data that a rank
// sends are those that it had at the start.
TEST(Data, BuffersThatOverlap) {
    const int rank = rank_in(MPI_COMM_WORLD);
    const int size = size_of(MPI_COMM_WORLD);
    const auto all = static_cast<std::size_t>(size);
    MPI_Request request;
    std::vector<int> many(3 * all + 1);
    for (int i = 0; i < size; ++i) many[static_cast<std::size_t>(i)] = 100 * rank + i;
    // One block further, so that no MPI refuses it.
    ASSERT_EQ(MPI_Ialltoall(many.data(), 1, MPI_INT, many.data() + 1, 1, MPI_INT, MPI_COMM_WORLD, &request),
              MPI_SUCCESS);
    wait(&request);
    for (int i = 0; i < size; ++i) EXPECT_EQ(many[static_cast<std::size_t>(i) + 1], 100 * i + rank);
    std::vector<int> sums(static_cast<std::size_t>(101));
    for (int i = 0; i < 100; ++i) sums[static_cast<std::size_t>(i)] = rank + i;
    ASSERT_EQ(MPI_Iallreduce(sums.data(), sums.data() + 1, 100, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request),
              MPI_SUCCESS);
    wait(&request);
    for (int i = 0; i < 100; ++i)
        EXPECT_EQ(sums[static_cast<std::size_t>(i) + 1], size * i + size * (size - 1) / 2);
    // Blocks that alternate in memory do not overlap.
    const std::vector<int> counts(all, 1);
    std::vector<int> even;
    for (int i = 0; i < size; ++i) {
        even.push_back(2 * i);
        many[static_cast<std::size_t>(2 * i)] = 10 * rank + i;
    }
    ASSERT_EQ(MPI_Ialltoallv(many.data(), counts.data(), even.data(), MPI_INT, many.data() + 1, counts.data(),
                             even.data(), MPI_INT, MPI_COMM_WORLD, &request),
              MPI_SUCCESS);
    wait(&request);
    for (int i = 0; i < size; ++i) {
        EXPECT_EQ(many[static_cast<std::size_t>(2 * i)], 10 * rank + i);
        EXPECT_EQ(many[static_cast<std::size_t>(2 * i) + 1], 10 * i + rank);
    }
#ifdef OPEN_MPI
    int value = rank + 1;
    ASSERT_EQ(MPI_Iscan(&value, &value, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request), MPI_SUCCESS);
    wait(&request);
    EXPECT_EQ(value, (rank + 1) * (rank + 2) / 2);
#endif
}

// Lapwing frees a type that the program has freed meanwhile, whose attribute then calls the MPI.
TEST(Data, AnAttributeOfATypeMayCallTheMpi) {
    int key = MPI_KEYVAL_INVALID;
    const auto free = [](MPI_Datatype, int, void* value, void*) -> int {
        const auto* const type = static_cast<MPI_Datatype*>(value);
        MPI_Datatype freed = *type;
        delete type;
        return MPI_Type_free(&freed);
    };
    MPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, free, &key, nullptr);
    MPI_Datatype sparse = MPI_DATATYPE_NULL;
    MPI_Type_vector(2, 1, 2, MPI_INT, &sparse);
    MPI_Type_commit(&sparse);
    MPI_Datatype own = MPI_DATATYPE_NULL;
    MPI_Type_contiguous(2, MPI_INT, &own);
    MPI_Type_set_attr(sparse, key, new MPI_Datatype(own));
    std::vector<int> data = {rank_in(world), -1, rank_in(world)};
    MPI_Request request;
    MPI_Ibcast(data.data(), 1, sparse, 0, world, &request);
    MPI_Type_free(&sparse);
    wait(&request);
    EXPECT_EQ(data, (std::vector<int>{0, -1, 0}));
    MPI_Type_free_keyval(&key);
}

// Open MPI ends a job that frees the handle of such a type.
TEST(Data, TypesMadeOfThoseOfFortransPrecisions) {
    MPI_Datatype real = MPI_DATATYPE_NULL;
    MPI_Datatype three = MPI_DATATYPE_NULL;
    MPI_Type_create_f90_real(15, 300, &real);
    MPI_Type_contiguous(3, real, &three);
    MPI_Type_commit(&three);
    std::vector<double> data(3, rank_in(world) + 1.5);
    MPI_Request request;
    MPI_Ibcast(data.data(), 1, three, 0, world, &request);
    wait(&request);
    EXPECT_EQ(data, std::vector<double>(3, 1.5));
    MPI_Type_free(&three);
}

TEST(Data, LargeMessages) {
    Exchange exchange(world, 1 << 18);
    exchange.start();
    wait(&exchange.request);
    EXPECT_TRUE(exchange.right());
    std::vector<int> data(3'000'001, rank_in(world) == 0 ? 5 : 0);
    MPI_Request request;
    MPI_Ibcast(data.data(), static_cast<int>(data.size()), MPI_INT, 0, world, &request);
    wait(&request);
    EXPECT_EQ(data, std::vector<int>(data.size(), 5));
}

}  // namespace
