// Typed elements to bytes and back, also by messages where the MPI could not count the bytes of an element:
// the same bytes as MPI_Pack gives.
#include "mpi/native/packing.hpp"

#include <mpi.h>

#include "links/mpi/own_communicator.hpp"
#include "support/unit.hpp"

namespace {

using namespace lapwing;

class OwnCommunicator : public testing::Environment {
    void SetUp() override { make_own_communicator(); }
    void TearDown() override { free_own_communicator(); }
};
const testing::Environment* const own_communicator_of_tests =
    testing::AddGlobalTestEnvironment(new OwnCommunicator);

// As few as there may be: an element of the longest basic type used here.
constexpr std::uint64_t limits[] = {8, 9, 16, 31, 100, 1000, INT_MAX};
constexpr unsigned char untouched = 0xee;

struct Bytes {
    std::vector<unsigned char> memory;
    char* origin;  // where elements begin

    Bytes(MPI_Datatype type, int count, unsigned char (*value)(std::size_t)) {
        MPI_Aint lower = 0;
        MPI_Aint extent = 0;
        MPI_Aint true_lower = 0;
        MPI_Aint true_extent = 0;
        MPI_Type_get_extent(type, &lower, &extent);
        MPI_Type_get_true_extent(type, &true_lower, &true_extent);
        const MPI_Aint last = (count - 1) * extent;
        const MPI_Aint begin = true_lower + std::min<MPI_Aint>(0, last);
        const MPI_Aint end = true_lower + true_extent + std::max<MPI_Aint>(0, last);
        memory.resize(static_cast<std::size_t>(end - begin));
        for (std::size_t i = 0; i < memory.size(); ++i) memory[i] = value(i);
        origin = reinterpret_cast<char*>(memory.data()) - begin;
    }
};

unsigned char some_value(std::size_t place) {
    return static_cast<unsigned char>(place * 7 + place / 251);
}
unsigned char no_value(std::size_t) {
    return untouched;
}

// Frees the type.
void expect_the_same_bytes(const std::string& what, MPI_Datatype type) {
    MPI_Type_commit(&type);
    const Layout layout = layout_of(type);
    ASSERT_EQ(layout.error, MPI_SUCCESS) << what;
    for (const int count : {1, 3}) {
        const Bytes elements(type, count, some_value);
        std::vector<std::byte> expected(layout.size * static_cast<std::uint64_t>(count));
        int position = 0;
        MPI_Pack(elements.origin, count, type, expected.data(), static_cast<int>(expected.size()), &position,
                 MPI_COMM_SELF);
        ASSERT_EQ(position, static_cast<int>(expected.size())) << what;
        const Bytes expected_back(type, count, no_value);
        position = 0;
        MPI_Unpack(expected.data(), static_cast<int>(expected.size()), &position, expected_back.origin, count,
                   type, MPI_COMM_SELF);
        for (const std::uint64_t most : limits) {
            std::vector<std::byte> packed(expected.size(), std::byte{untouched});
            const auto at = [&](void* origin) {
                return Elements(origin, static_cast<std::uint64_t>(count), type, layout);
            };
            EXPECT_EQ(pack(at(elements.origin), packed.data(), most), MPI_SUCCESS) << what;
            EXPECT_EQ(packed, expected) << what << ", " << count << " elements, " << most << " bytes at most";
            const Bytes back(type, count, no_value);
            EXPECT_EQ(unpack(expected.data(), at(back.origin), most), MPI_SUCCESS) << what;
            EXPECT_EQ(back.memory, expected_back.memory)
                << what << ", " << count << " elements, " << most << " bytes at most";
        }
    }
    MPI_Type_free(&type);
}

// The type that `make` makes of the arguments.
template <typename Make, typename... Arguments>
void expect_of_made(const std::string& what, Make make, Arguments... arguments) {
    MPI_Datatype type = MPI_DATATYPE_NULL;
    make(arguments..., &type);
    expect_the_same_bytes(what, type);
}

// Types inside of others need not be committed, and may have holes, and stretch backwards.
std::vector<MPI_Datatype> bases() {
    std::vector<MPI_Datatype> found = {MPI_BYTE, MPI_DOUBLE};
    MPI_Datatype type = MPI_DATATYPE_NULL;
    MPI_Type_vector(3, 2, 5, MPI_SHORT, &type);
    found.push_back(type);
    MPI_Datatype hole = MPI_DATATYPE_NULL;
    MPI_Type_create_resized(MPI_INT, -4, 12, &hole);
    found.push_back(hole);
    const int lengths[] = {2, 0, 1};
    const MPI_Aint places[] = {8, 0, -16};
    const MPI_Datatype types[] = {MPI_CHAR, MPI_INT, MPI_DOUBLE};
    MPI_Type_create_struct(3, lengths, places, types, &type);
    found.push_back(type);
    return found;
}

TEST(Packing, EveryKindOfType) {
    int number = 0;
    for (MPI_Datatype base : bases()) {
        const std::string of = " of base " + std::to_string(number++);
        MPI_Datatype type = MPI_DATATYPE_NULL;
        expect_of_made("a duplicate" + of, MPI_Type_dup, base);
        expect_of_made("contiguous" + of, MPI_Type_contiguous, 7, base);
        expect_of_made("a vector" + of, MPI_Type_vector, 5, 3, 4, base);
        expect_of_made("a vector backwards" + of, MPI_Type_vector, 5, 2, -3, base);
        expect_of_made("a vector by bytes" + of, MPI_Type_create_hvector, 40, 1, 301, base);
        const int lengths[] = {3, 0, 5, 1, 2};
        const int places[] = {9, 1, -6, 20, 0};
        expect_of_made("indexed" + of, MPI_Type_indexed, 5, lengths, places, base);
        expect_of_made("indexed blocks" + of, MPI_Type_create_indexed_block, 5, 2, places, base);
        const MPI_Aint addresses[] = {900, 100, -601, 2000, 3};
        expect_of_made("indexed by bytes" + of, MPI_Type_create_hindexed, 5, lengths, addresses, base);
        expect_of_made("indexed blocks by bytes" + of, MPI_Type_create_hindexed_block, 5, 2, addresses, base);
        const MPI_Datatype types[] = {base, MPI_INT, MPI_SHORT, base, MPI_BYTE};
        expect_of_made("a struct" + of, MPI_Type_create_struct, 5, lengths, addresses, types);
        MPI_Datatype inside = MPI_DATATYPE_NULL;
        MPI_Type_vector(4, 2, 3, base, &inside);
        MPI_Type_create_resized(inside, 16, 1000, &type);
        MPI_Type_free(&inside);
        MPI_Type_vector(3, 2, -4, type, &inside);
        MPI_Type_free(&type);
        expect_the_same_bytes("nested" + of, inside);
        if (number > 2) MPI_Type_free(&base);
    }
}

#if MPI_VERSION >= 4
// MPI gives their contents in another form.
TEST(Packing, TypesWithLargeCounts) {
    int number = 0;
    for (MPI_Datatype base : bases()) {
        const std::string of = " with large counts of base " + std::to_string(number++);
        expect_of_made("contiguous" + of, MPI_Type_contiguous_c, 7, base);
        expect_of_made("a vector" + of, MPI_Type_vector_c, 5, 3, 4, base);
        expect_of_made("a vector by bytes" + of, MPI_Type_create_hvector_c, 40, 1, 301, base);
        const MPI_Count lengths[] = {3, 0, 5, 1, 2};
        const MPI_Count places[] = {9, 1, -6, 20, 0};
        expect_of_made("indexed" + of, MPI_Type_indexed_c, 5, lengths, places, base);
        expect_of_made("indexed blocks" + of, MPI_Type_create_indexed_block_c, 5, 2, places, base);
        const MPI_Count addresses[] = {900, 100, -601, 2000, 3};
        expect_of_made("indexed by bytes" + of, MPI_Type_create_hindexed_c, 5, lengths, addresses, base);
        expect_of_made("indexed blocks by bytes" + of, MPI_Type_create_hindexed_block_c, 5, 2, addresses,
                       base);
        const MPI_Datatype types[] = {base, MPI_INT, MPI_SHORT, base, MPI_BYTE};
        expect_of_made("a struct" + of, MPI_Type_create_struct_c, 5, lengths, addresses, types);
        expect_of_made("resized" + of, MPI_Type_create_resized_c, base, -8, 500);
        const MPI_Count sizes[] = {5, 4, 6};
        const MPI_Count parts[] = {3, 2, 4};
        const MPI_Count starts[] = {1, 2, 0};
        expect_of_made("a part of an array" + of, MPI_Type_create_subarray_c, 3, sizes, parts, starts,
                       MPI_ORDER_FORTRAN, base);
        const int kinds[] = {MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_NONE};
        const int arguments[] = {MPI_DISTRIBUTE_DFLT_DARG, MPI_DISTRIBUTE_DFLT_DARG,
                                 MPI_DISTRIBUTE_DFLT_DARG};
        const int grid[] = {2, 3, 1};
        expect_of_made("a share of an array" + of, MPI_Type_create_darray_c, 6, 4, 3, sizes, kinds, arguments,
                       grid, MPI_ORDER_C, MPI_DOUBLE);
        if (number > 2) MPI_Type_free(&base);
    }
}
#endif

TEST(Packing, PartsOfArrays) {
    const int sizes[] = {5, 4, 6};
    const int parts[] = {3, 2, 4};
    const int starts[] = {1, 2, 0};
    for (const int order : {MPI_ORDER_C, MPI_ORDER_FORTRAN}) {
        for (int dimensions = 1; dimensions <= 3; ++dimensions) {
            const std::string what =
                std::to_string(dimensions) + " dimensions, order " + std::to_string(order);
            MPI_Datatype type = MPI_DATATYPE_NULL;
            MPI_Type_create_subarray(dimensions, sizes, parts, starts, order, MPI_DOUBLE, &type);
            expect_the_same_bytes("a part of " + what, type);
            MPI_Datatype triple = MPI_DATATYPE_NULL;
            MPI_Type_vector(3, 1, 2, MPI_INT, &triple);
            MPI_Type_create_subarray(dimensions, sizes, parts, starts, order, triple, &type);
            MPI_Type_free(&triple);
            expect_the_same_bytes("a part with holes of " + what, type);
        }
    }
}

TEST(Packing, SharesOfArrays) {
    const int sizes[] = {7, 5, 11};
    const int kinds[][3] = {{MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_NONE},
                            {MPI_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_NONE, MPI_DISTRIBUTE_BLOCK},
                            {MPI_DISTRIBUTE_NONE, MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC}};
    const int usual = MPI_DISTRIBUTE_DFLT_DARG;
    const int arguments[][3] = {{usual, usual, usual}, {4, 2, 3}};
    for (const int order : {MPI_ORDER_C, MPI_ORDER_FORTRAN}) {
        for (const auto& kind : kinds) {
            for (const auto& asked : arguments) {
                int ranks[3];
                int arguments_of[3];
                const int grid[] = {2, 3, 4};
                int all = 1;
                for (int i = 0; i < 3; ++i) {
                    ranks[i] = kind[i] == MPI_DISTRIBUTE_NONE ? 1 : grid[i];
                    arguments_of[i] = kind[i] == MPI_DISTRIBUTE_NONE ? usual : asked[i];
                    // Blocks must hold all.
                    if (kind[i] == MPI_DISTRIBUTE_BLOCK && arguments_of[i] != usual)
                        arguments_of[i] = std::max(asked[i], (sizes[i] + ranks[i] - 1) / ranks[i]);
                    all *= ranks[i];
                }
                for (int rank = 0; rank < all; ++rank) {
                    MPI_Datatype type = MPI_DATATYPE_NULL;
                    MPI_Type_create_darray(all, rank, 3, sizes, kind, arguments_of, ranks, order, MPI_DOUBLE,
                                           &type);
                    if (layout_of(type).size == 0) {
                        MPI_Type_free(&type);
                        continue;
                    }
                    expect_the_same_bytes("share " + std::to_string(rank) + " of " + std::to_string(all),
                                          type);
                }
            }
        }
    }
}

}  // namespace
