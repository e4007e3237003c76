// Datatypes, places and counts, through an unmodified program's calls.
#include <gtest/gtest.h>
#include <mpi.h>

#include <algorithm>
#include <cstddef>
#include <vector>

#include "reference.hpp"

namespace {

void wait(MPI_Request* request) {
    EXPECT_EQ(MPI_Wait(request, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_EQ(*request, MPI_REQUEST_NULL);
}

// Derived types with holes, with data in another order than in memory, and with an extent of their own.
struct TypeCase {
    const char* name;
    MPI_Datatype type;
    int ints;                 // of data in an element
    int extent;               // in ints
    std::vector<int> places;  // in ints, of the data in order
};

std::vector<TypeCase> type_cases() {
    std::vector<TypeCase> cases;
    MPI_Datatype type;
    cases.push_back({"MPI_INT", MPI_INT, 1, 1, {0}});
    MPI_Type_contiguous(3, MPI_INT, &type);
    cases.push_back({"contiguous", type, 3, 3, {0, 1, 2}});
    MPI_Type_vector(2, 1, 3, MPI_INT, &type);
    cases.push_back({"vector", type, 2, 4, {0, 3}});
    int lengths[] = {1, 1};
    int displacements[] = {1, 0};
    MPI_Type_indexed(2, lengths, displacements, MPI_INT, &type);
    cases.push_back({"indexed backwards", type, 2, 2, {1, 0}});
    MPI_Type_create_resized(MPI_INT, 0, 5 * static_cast<int>(sizeof(int)), &type);
    cases.push_back({"resized", type, 1, 5, {0}});
    MPI_Datatype holes;
    MPI_Type_vector(2, 1, 3, MPI_INT, &holes);
    MPI_Type_contiguous(2, holes, &type);
    MPI_Type_free(&holes);
    cases.push_back({"contiguous of vector", type, 4, 8, {0, 3, 4, 7}});
    for (TypeCase& one : cases) MPI_Type_commit(&one.type);
    return cases;
}

// `elements` elements of a type as memory: -1 in the holes.
class Memory {
  public:
    Memory(const TypeCase& type, int elements)
        : type_(type), ints_(static_cast<std::size_t>(type.extent * elements), -1) {}
    int& at(int datum) {
        const int element = datum / type_.ints;
        return ints_[static_cast<std::size_t>(element * type_.extent +
                                              type_.places[static_cast<std::size_t>(datum % type_.ints)])];
    }
    int* data() { return ints_.data(); }
    int holes_written() const {
        Memory copy = *this;
        const int elements = static_cast<int>(ints_.size()) / type_.extent;
        for (int i = 0; i < elements * type_.ints; ++i) copy.at(i) = -1;
        int written = 0;
        for (int value : copy.ints_) written += value != -1;
        return written;
    }

  private:
    TypeCase type_;
    std::vector<int> ints_;
};

TEST(Data, EveryKindOfTypeInEveryCollective) {
    const int ranks = size_of(world);
    const int rank = rank_in(world);
    for (TypeCase& type : type_cases()) {
        SCOPED_TRACE(type.name);
        for (const int elements : {0, 1, 7}) {
            const int block = elements * type.ints;
            for (int root = 0; root < ranks; ++root) {
                Memory data(type, elements);
                for (int i = 0; i < block; ++i) data.at(i) = rank == root ? value(root, 0, i) : 0;
                MPI_Request request;
                MPI_Datatype gone;
                MPI_Type_dup(type.type, &gone);
                MPI_Ibcast(data.data(), elements, gone, root, world, &request);
                MPI_Type_free(&gone);  // allowed at once
                wait(&request);
                for (int i = 0; i < block; ++i) ASSERT_EQ(data.at(i), value(root, 0, i));
                ASSERT_EQ(data.holes_written(), 0);

                Memory own(type, elements);
                Memory all(type, elements * ranks);
                for (int i = 0; i < block; ++i) own.at(i) = value(rank, root, i);
                MPI_Igather(own.data(), elements, type.type, all.data(), elements, type.type, root, world,
                            &request);
                wait(&request);
                for (int i = 0; rank == root && i < block * ranks; ++i) {
                    ASSERT_EQ(all.at(i), value(i / std::max(1, block), root, i % std::max(1, block)));
                }
                ASSERT_EQ(all.holes_written(), 0);

                Memory placed(type, elements * ranks);
                for (int i = 0; i < block; ++i) placed.at(rank * block + i) = value(rank, root, i);
                Memory mine(type, elements);
                for (int i = 0; i < block; ++i) mine.at(i) = value(rank, root, i);
                MPI_Igather(rank == root ? MPI_IN_PLACE : mine.data(), elements, type.type, placed.data(),
                            elements, type.type, root, world, &request);
                wait(&request);
                for (int i = 0; rank == root && i < block * ranks; ++i) {
                    ASSERT_EQ(placed.at(i), value(i / std::max(1, block), root, i % std::max(1, block)));
                }
            }
            // One side typed, the other plain ints; then in place.
            Memory sent(type, elements * ranks);
            for (int i = 0; i < block * ranks; ++i) {
                sent.at(i) = value(rank, i / std::max(1, block), i % std::max(1, block));
            }
            std::vector<int> received(static_cast<std::size_t>(block * ranks));
            MPI_Request request;
            MPI_Ialltoall(sent.data(), elements, type.type, received.data(), block, MPI_INT, world, &request);
            wait(&request);
            for (int i = 0; i < block * ranks; ++i) {
                ASSERT_EQ(received[static_cast<std::size_t>(i)], value(i / block, rank, i % block));
            }
            MPI_Ialltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, sent.data(), elements, type.type, world,
                          &request);
            wait(&request);
            for (int i = 0; i < block * ranks; ++i) ASSERT_EQ(sent.at(i), value(i / block, rank, i % block));
            ASSERT_EQ(sent.holes_written(), 0);
        }
        if (type.type != MPI_INT) MPI_Type_free(&type.type);
    }
}

TEST(Data, PredefinedTypes) {
    const MPI_Datatype types[] = {MPI_CHAR,       MPI_SHORT,
                                  MPI_LONG,       MPI_LONG_LONG,
                                  MPI_UNSIGNED,   MPI_FLOAT,
                                  MPI_DOUBLE,     MPI_LONG_DOUBLE,
                                  MPI_BYTE,       MPI_WCHAR,
                                  MPI_INT8_T,     MPI_UINT64_T,
                                  MPI_C_BOOL,     MPI_C_DOUBLE_COMPLEX,
                                  MPI_AINT,       MPI_OFFSET,
                                  MPI_COUNT,      MPI_FLOAT_INT,
                                  MPI_DOUBLE_INT, MPI_2INT,
                                  MPI_SHORT_INT,  MPI_LONG_DOUBLE_INT};
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

TEST(Data, AbsoluteAddresses) {
    const int rank = rank_in(world);
    int number = rank == 0 ? 42 : 0;
    MPI_Aint address;
    MPI_Get_address(&number, &address);
    const int one = 1;
    MPI_Datatype type;
    MPI_Type_create_hindexed(1, &one, &address, MPI_INT, &type);
    MPI_Type_commit(&type);
    MPI_Request request;
    MPI_Ibcast(MPI_BOTTOM, 1, type, 0, world, &request);
    wait(&request);
    EXPECT_EQ(number, 42);
    MPI_Type_free(&type);
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
