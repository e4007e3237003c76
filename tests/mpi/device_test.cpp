// Every collective with buffers in the memory of a device, on some ranks or all. What is right is what the
// native MPI gives for the same call with host memory: all bytes of the buffers, those between the data of a
// datatype, too.
#include <gtest/gtest.h>
#include <mpi.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <string>
#include <thread>

#include "device_memory.hpp"
#include "persistent_forms.hpp"
#include "reference.hpp"

namespace {

struct TypeCase {
    const char* name;
    MPI_Datatype type;
    int extent;  // in ints
    int below;   // ints of the first element that are below its address
};

const std::vector<TypeCase>& types() {
    static const std::vector<TypeCase> all = [] {
        std::vector<TypeCase> cases = {{"MPI_INT", MPI_INT, 1, 0}};
        MPI_Datatype type;
        MPI_Type_contiguous(3, MPI_INT, &type);
        cases.push_back({"contiguous", type, 3, 0});
        MPI_Type_vector(2, 1, 3, MPI_INT, &type);
        cases.push_back({"vector", type, 4, 0});
        int ones[] = {1, 1};
        int backwards[] = {1, 0};
        MPI_Type_indexed(2, ones, backwards, MPI_INT, &type);
        cases.push_back({"indexed backwards", type, 2, 0});
        int negative[] = {-2, 0};
        MPI_Type_indexed(2, ones, negative, MPI_INT, &type);
        cases.push_back({"negative lower bound", type, 3, 2});
        MPI_Type_create_resized(MPI_INT, 0, 5 * static_cast<int>(sizeof(int)), &type);
        cases.push_back({"resized", type, 5, 0});
        for (TypeCase& one : cases) MPI_Type_commit(&one.type);
        return cases;
    }();
    return all;
}

// On which side this rank's buffers are a device's.
struct Places {
    const char* name;
    bool sent;
    bool received;
};

std::vector<Places> places() {
    const int rank = rank_in(world);
    const bool odd = rank % 2 == 1;
    // The last rank of several has no driver.
    const bool device = rank + 1 < size_of(world) || rank == 0;
    return {{"both", device, device},
            {"sent", device, false},
            {"received", false, device},
            {"odd ranks send, even ones receive", device && odd, device && !odd},
            {"even ranks", device && !odd, device && !odd}};
}

// One call: of the native MPI, and nonblocking.
struct Call {
    std::string name;
    int sent;      // elements
    int received;  // elements
    std::function<int(const void*, void*)> native;
    std::function<int(const void*, void*, MPI_Request*)> nonblocking;
    bool in_place = false;
    int defined = -1;  // elements of the result at the beginning of the receive buffer; -1: all
};

// The native call and the nonblocking one with the same arguments, for a Call.
#define BOTH(native, nonblocking, ...)                              \
    [&](const void* in, void* out) { return native(__VA_ARGS__); }, \
        [&](const void* in, void* out, MPI_Request* request) { return nonblocking(__VA_ARGS__, request); }

std::vector<int> filled(const TypeCase& type, int elements, int seed) {
    std::vector<int> ints(static_cast<std::size_t>(type.below + elements * type.extent + 3));
    for (std::size_t i = 0; i < ints.size(); ++i) ints[i] = value(rank_in(world), seed, static_cast<int>(i));
    return ints;
}

void compare(const Call& call, const TypeCase& type) {
    const std::vector<int> sent = filled(type, call.sent, 1);
    const std::vector<int> received = filled(type, call.received, 2);
    std::vector<int> expected = received;
    {
        std::vector<int> copy = sent;
        const void* const in =
            call.in_place ? MPI_IN_PLACE : static_cast<const void*>(copy.data() + type.below);
        ASSERT_EQ(call.native(in, expected.data() + type.below), MPI_SUCCESS);
    }
    for (const Places& where : places()) {
        SCOPED_TRACE(where.name);
        Ints from(where.sent, sent);
        Ints to(where.received, received);
        MPI_Request request = MPI_REQUEST_NULL;
        const void* const in =
            call.in_place ? MPI_IN_PLACE : static_cast<const void*>(from.data() + type.below);
        ASSERT_EQ(call.nonblocking(in, to.data() + type.below, &request), MPI_SUCCESS);
        ASSERT_EQ(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
        EXPECT_EQ(from.content(), sent);
        std::vector<int> found = to.content();
        if (call.defined >= 0) {
            const auto end = static_cast<std::size_t>(type.below + call.defined * type.extent);
            found.resize(end);
            std::vector<int> part(expected.begin(), expected.begin() + static_cast<std::ptrdiff_t>(end));
            EXPECT_EQ(found, part);
        } else {
            EXPECT_EQ(found, expected);
        }
    }
}

// Blocks of different lengths with gaps, in elements.
struct Shape {
    std::vector<int> counts;
    std::vector<int> displacements;
    int end = 0;
    Shape(int blocks, const std::function<int(int)>& count) {
        for (int i = 0; i < blocks; ++i) {
            counts.push_back(count(i));
            displacements.push_back(end);
            end += counts.back() + i % 2;
        }
    }
    std::vector<int> in_bytes(const TypeCase& type) const {
        std::vector<int> bytes;
        for (int displacement : displacements)
            bytes.push_back(displacement * type.extent * static_cast<int>(sizeof(int)));
        return bytes;
    }
};

TEST(Device, MovesDataOfEveryType) {
    const int ranks = size_of(world);
    const int rank = rank_in(world);
    for (const TypeCase& type : types()) {
        SCOPED_TRACE(type.name);
        const MPI_Datatype t = type.type;
        for (const int n : {0, 1, 5}) {
            const int all = n * ranks;
            for (int root = 0; root < ranks; ++root) {
                compare({"bcast", 0, n,
                         [=](const void*, void* out) { return PMPI_Bcast(out, n, t, root, world); },
                         [=](const void*, void* out, MPI_Request* r) {
                             return MPI_Ibcast(out, n, t, root, world, r);
                         }},
                        type);
                for (const bool in_place : {false, true}) {
                    const bool mine = in_place && rank == root;
                    compare({"gather", n, all,
                             BOTH(PMPI_Gather, MPI_Igather, in, n, t, out, n, t, root, world), mine},
                            type);
                    // The buffers of a scatter change sides: in place is the root's receive buffer.
                    compare({"scatter", all, n,
                             BOTH(PMPI_Scatter, MPI_Iscatter, in, n, t, mine ? MPI_IN_PLACE : out, n, t, root,
                                  world)},
                            type);
                }
            }
            for (const bool in_place : {false, true}) {
                compare({"allgather", n, all,
                         BOTH(PMPI_Allgather, MPI_Iallgather, in, n, t, out, n, t, world), in_place},
                        type);
                compare({"alltoall", all, all, BOTH(PMPI_Alltoall, MPI_Ialltoall, in, n, t, out, n, t, world),
                         in_place},
                        type);
            }
        }
    }
}

TEST(Device, MovesBlocksOfSeveralLengths) {
    const int ranks = size_of(world);
    const int rank = rank_in(world);
    for (const TypeCase& type : types()) {
        SCOPED_TRACE(type.name);
        const MPI_Datatype t = type.type;
        const Shape by_rank(ranks, [](int i) { return (i * 2 + 1) % 4; });
        const Shape to(ranks, [=](int i) { return (rank + 2 * i) % 4; });
        const Shape from(ranks, [=](int i) { return (i + 2 * rank) % 4; });
        const Shape both(ranks, [=](int i) { return (i + rank) % 3; });
        const int own = by_rank.counts[static_cast<std::size_t>(rank)];
        const int* const counts = by_rank.counts.data();
        const int* const displs = by_rank.displacements.data();
        for (const bool in_place : {false, true}) {
            for (int root = 0; root < ranks; ++root) {
                const bool mine = in_place && rank == root;
                compare(
                    {"gatherv", own, by_rank.end,
                     BOTH(PMPI_Gatherv, MPI_Igatherv, in, own, t, out, counts, displs, t, root, world), mine},
                    type);
                compare({"scatterv", by_rank.end, own,
                         BOTH(PMPI_Scatterv, MPI_Iscatterv, in, counts, displs, t, mine ? MPI_IN_PLACE : out,
                              own, t, root, world)},
                        type);
            }
            compare(
                {"allgatherv", own, by_rank.end,
                 BOTH(PMPI_Allgatherv, MPI_Iallgatherv, in, own, t, out, counts, displs, t, world), in_place},
                type);
            const Shape& s = in_place ? both : to;
            const Shape& d = in_place ? both : from;
            compare({"alltoallv", s.end, d.end,
                     BOTH(PMPI_Alltoallv, MPI_Ialltoallv, in, s.counts.data(), s.displacements.data(), t, out,
                          d.counts.data(), d.displacements.data(), t, world),
                     in_place},
                    type);
            const std::vector<MPI_Datatype> ts(static_cast<std::size_t>(ranks), t);
            const std::vector<int> sb = s.in_bytes(type);
            const std::vector<int> db = d.in_bytes(type);
            compare({"alltoallw", s.end, d.end,
                     BOTH(PMPI_Alltoallw, MPI_Ialltoallw, in, s.counts.data(), sb.data(), ts.data(), out,
                          d.counts.data(), db.data(), ts.data(), world),
                     in_place},
                    type);
        }
    }
}

// The left one of two: associative, and does not commute.
void keep_left(void* left, void* right, int* count, MPI_Datatype*) {
    std::copy_n(static_cast<int*>(left), *count, static_cast<int*>(right));
}
void add_holed(void* left, void* right, int* count, MPI_Datatype*) {
    for (int i = 0; i < *count; ++i) {
        for (const int at : {0, 3})
            static_cast<int*>(right)[4 * i + at] += static_cast<int*>(left)[4 * i + at];
    }
}

TEST(Device, Reduces) {
    const int ranks = size_of(world);
    const int rank = rank_in(world);
    MPI_Op left;
    MPI_Op holed;
    MPI_Op_create(keep_left, 0, &left);
    MPI_Op_create(add_holed, 1, &holed);
    struct Operator {
        const char* name;
        MPI_Op op;
        const TypeCase& type;
    };
    for (const auto& [name, op, type] :
         {Operator{"sum", MPI_SUM, types()[0]}, Operator{"left", left, types()[0]},
          Operator{"holes", holed, types()[2]}}) {
        SCOPED_TRACE(name);
        const MPI_Op o = op;
        const MPI_Datatype t = type.type;
        for (const int n : {1, 6}) {
            const int all = n * ranks;
            const std::vector<int> counts = Shape(ranks, [=](int i) { return (i + n) % 3; }).counts;
            const int sum = std::accumulate(counts.begin(), counts.end(), 0);
            const int own = counts[static_cast<std::size_t>(rank)];
            for (const bool in_place : {false, true}) {
                for (int root = 0; root < ranks; ++root) {
                    compare({"reduce", n, n, BOTH(PMPI_Reduce, MPI_Ireduce, in, out, n, t, o, root, world),
                             in_place && rank == root},
                            type);
                }
                compare({"allreduce", n, n, BOTH(PMPI_Allreduce, MPI_Iallreduce, in, out, n, t, o, world),
                         in_place},
                        type);
                compare({"scan", n, n, BOTH(PMPI_Scan, MPI_Iscan, in, out, n, t, o, world), in_place}, type);
                compare({"exscan", n, n, BOTH(PMPI_Exscan, MPI_Iexscan, in, out, n, t, o, world), in_place,
                         rank == 0 ? 0 : -1},
                        type);
                compare({"reduce_scatter_block", all, in_place ? all : n,
                         BOTH(PMPI_Reduce_scatter_block, MPI_Ireduce_scatter_block, in, out, n, t, o, world),
                         in_place, n},
                        type);
                compare({"reduce_scatter", sum, in_place ? sum : own,
                         BOTH(PMPI_Reduce_scatter, MPI_Ireduce_scatter, in, out, counts.data(), t, o, world),
                         in_place, own},
                        type);
            }
        }
    }
    MPI_Op_free(&left);
    MPI_Op_free(&holed);
}

TEST(Device, AmongNeighbors) {
    const int ranks = size_of(world);
    const int rank = rank_in(world);
    // The next rank and itself.
    std::vector<int> to = {rank, (rank + 1) % ranks};
    std::vector<int> from = {rank, (rank + ranks - 1) % ranks};
    if (ranks == 1) to = from = {0};
    const int degree = static_cast<int>(to.size());
    MPI_Comm graph;
    MPI_Dist_graph_create_adjacent(world, degree, from.data(), MPI_UNWEIGHTED, degree, to.data(),
                                   MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &graph);
    for (const TypeCase& type : types()) {
        SCOPED_TRACE(type.name);
        const MPI_Datatype t = type.type;
        const int n = 3;
        const Shape shape(degree, [=](int i) { return i + 1; });
        const int* const counts = shape.counts.data();
        const int* const displs = shape.displacements.data();
        compare({"neighbor_allgather", n, n * degree,
                 BOTH(PMPI_Neighbor_allgather, MPI_Ineighbor_allgather, in, n, t, out, n, t, graph)},
                type);
        const Shape same(degree, [](int) { return 2; });
        compare({"neighbor_allgatherv", 2, same.end,
                 BOTH(PMPI_Neighbor_allgatherv, MPI_Ineighbor_allgatherv, in, 2, t, out, same.counts.data(),
                      same.displacements.data(), t, graph)},
                type);
        compare({"neighbor_alltoall", n * degree, n * degree,
                 BOTH(PMPI_Neighbor_alltoall, MPI_Ineighbor_alltoall, in, n, t, out, n, t, graph)},
                type);
        compare({"neighbor_alltoallv", shape.end, shape.end,
                 BOTH(PMPI_Neighbor_alltoallv, MPI_Ineighbor_alltoallv, in, counts, displs, t, out, counts,
                      displs, t, graph)},
                type);
        const std::vector<int> bytes = shape.in_bytes(type);
        const std::vector<MPI_Aint> wide(bytes.begin(), bytes.end());
        const std::vector<MPI_Datatype> ts(static_cast<std::size_t>(degree), t);
        compare({"neighbor_alltoallw", shape.end, shape.end,
                 BOTH(PMPI_Neighbor_alltoallw, MPI_Ineighbor_alltoallw, in, counts, wide.data(), ts.data(),
                      out, counts, wide.data(), ts.data(), graph)},
                type);
    }
    MPI_Comm_free(&graph);
}

TEST(Device, LongMessages) {
    const TypeCase& type = types()[0];
    for (const int n : {100'000, 700'000}) {
        compare({"bcast", 0, n, [=](const void*, void* out) { return PMPI_Bcast(out, n, MPI_INT, 0, world); },
                 [=](const void*, void* out, MPI_Request* r) {
                     return MPI_Ibcast(out, n, MPI_INT, 0, world, r);
                 }},
                type);
        compare(
            {"allreduce", n, n, BOTH(PMPI_Allreduce, MPI_Iallreduce, in, out, n, MPI_INT, MPI_MAX, world)},
            type);
    }
}

// The blocking forms, which Lapwing takes when it is told to.
TEST(Device, BlockingForms) {
    if (std::getenv("LAPWING_BLOCKING") == nullptr) GTEST_SKIP() << "the native MPI has them";
    Ints data(true, filled(types()[0], 10, 3));
    std::vector<int> expected = filled(types()[0], 10, 3);
    PMPI_Allreduce(MPI_IN_PLACE, expected.data(), 10, MPI_INT, MPI_SUM, world);
    MPI_Allreduce(MPI_IN_PLACE, data.data(), 10, MPI_INT, MPI_SUM, world);
    EXPECT_EQ(data.content(), expected);
}

}  // namespace
