// Problems: their sizes, what is refused, and their results.

#include "task/problem.hpp"
#include "support/errors.hpp"
#include "support/unit.hpp"
#include "task/parts.hpp"
#include "task/result.hpp"
#include "task/sample.hpp"
#include "task/text.hpp"
#include "task/validation.hpp"

namespace lapwing {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// One problem of three ranks for each collective, with blocks of 4 bytes.
Problem three_blocks(Collective collective, int root = 0, bool in_place = false) {
    return {.collective = collective,
            .ranks = 3,
            .root = root,
            .bytes = collective == Collective::barrier ? 0U : 4U,
            .in_place = in_place,
            .type = Type::uint32};
}

// Block `from` or, of what a root or a vector holds, `to` has that many times 4 bytes.
Problem three_by_parts(Collective collective, int root = 0, bool in_place = false) {
    Problem problem = three_blocks(collective, root, in_place);
    const bool by_sender = collective != Collective::scatterv && collective != Collective::reduce_scatter;
    problem.parts = all_parts(
        problem, [&](int from, int to) { return 4 * static_cast<std::uint64_t>(by_sender ? from : to); });
    problem.bytes = average_block(problem);
    return problem;
}

std::string validation_fault(const Problem& problem) {
    return error_of([&] { validate(problem); }, ErrorCode::invalid_argument, "valid");
}

TEST(Collective, IsFoundByAllOfItsNames) {
    for (const char* written : {"broadcast", "bcast", "ibcast", "MPI_Ibcast", "mpi_bcast", "IBROADCAST"})
        EXPECT_EQ(find_collective(written), Collective::broadcast) << written;
    for (const char* written : {"ialltoallw", "MPI_Alltoallw", "MPI_Ialltoallv", "alltoallv"})
        EXPECT_EQ(find_collective(written), Collective::alltoallv) << written;
    EXPECT_EQ(find_collective("MPI_Ineighbor_allgatherv"), Collective::neighbor_allgather);
    EXPECT_EQ(find_collective("ineighbor_alltoallv"), Collective::neighbor_alltoall);
    EXPECT_EQ(find_collective("neighbor_alltoallw"), Collective::neighbor_alltoall);
    for (const char* written : {"", "b", "bcas", "MPI_", "MPI_Ireduce_local", "ii", "MPI_Ialltoallw "})
        EXPECT_EQ(find_collective(written), std::nullopt) << written;
    for (const Collective collective : all_collectives()) {
        EXPECT_EQ(find_collective(name(collective)), collective);
        EXPECT_EQ(find_collective(mpi_name(collective)), collective);
    }
    EXPECT_EQ(all_collectives().size(), 18U);
}

// The bytes of in and out of each rank, and where its input stands.
std::string sizes(const Problem& problem) {
    EXPECT_EQ(validation_fault(problem), "valid");
    std::string text;
    for (int rank = 0; rank < problem.ranks; ++rank) {
        const Span own = input(problem, rank, 0, whole_input(problem, rank).length);
        text += (rank == 0 ? "" : ", ") + std::to_string(in_bytes(problem, rank)) + " " +
                std::to_string(out_bytes(problem, rank)) + " " + (own.length == 0 ? "-" : print(own));
    }
    return text;
}

TEST(Problem, GivesEveryRankItsSizesAndItsInput) {
    using enum Collective;
    EXPECT_EQ(sizes(three_blocks(barrier)), "0 0 -, 0 0 -, 0 0 -");
    EXPECT_EQ(sizes(three_blocks(broadcast, 1)), "0 4 -, 4 0 in[0+4], 0 4 -");
    EXPECT_EQ(sizes(three_blocks(gather, 1)), "4 0 in[0+4], 4 12 in[0+4], 4 0 in[0+4]");
    EXPECT_EQ(sizes(three_blocks(gather, 1, true)), "4 0 in[0+4], 0 12 out[4+4], 4 0 in[0+4]");
    EXPECT_EQ(sizes(three_blocks(scatter, 1)), "0 4 -, 12 4 in[0+12], 0 4 -");
    EXPECT_EQ(sizes(three_blocks(scatter, 1, true)), "0 4 -, 12 0 in[0+12], 0 4 -");
    EXPECT_EQ(sizes(three_blocks(allgather)), "4 12 in[0+4], 4 12 in[0+4], 4 12 in[0+4]");
    EXPECT_EQ(sizes(three_blocks(allgather, 0, true)), "0 12 out[0+4], 0 12 out[4+4], 0 12 out[8+4]");
    EXPECT_EQ(sizes(three_blocks(alltoall)), "12 12 in[0+12], 12 12 in[0+12], 12 12 in[0+12]");
    EXPECT_EQ(sizes(three_blocks(reduce, 2)), "4 0 in[0+4], 4 0 in[0+4], 4 4 in[0+4]");
    EXPECT_EQ(sizes(three_blocks(reduce, 2, true)), "4 0 in[0+4], 4 0 in[0+4], 0 4 out[0+4]");
    EXPECT_EQ(sizes(three_blocks(allreduce)), "4 4 in[0+4], 4 4 in[0+4], 4 4 in[0+4]");
    EXPECT_EQ(sizes(three_blocks(allreduce, 0, true)), "0 4 out[0+4], 0 4 out[0+4], 0 4 out[0+4]");
    EXPECT_EQ(sizes(three_blocks(reduce_scatter_block)), "12 4 in[0+12], 12 4 in[0+12], 12 4 in[0+12]");
    EXPECT_EQ(sizes(three_blocks(reduce_scatter_block, 0, true)),
              "0 12 out[0+12], 0 12 out[0+12], 0 12 out[0+12]");
    EXPECT_EQ(sizes(three_blocks(scan)), "4 4 in[0+4], 4 4 in[0+4], 4 4 in[0+4]");
    EXPECT_EQ(sizes(three_blocks(scan, 0, true)), "0 4 out[0+4], 0 4 out[0+4], 0 4 out[0+4]");
    EXPECT_EQ(sizes(three_blocks(exscan)), "4 0 in[0+4], 4 4 in[0+4], 4 4 in[0+4]");
    EXPECT_EQ(sizes(three_blocks(exscan, 0, true)), "0 4 out[0+4], 0 4 out[0+4], 0 4 out[0+4]");
}

TEST(Problem, GivesEveryRankItsSizesByItsParts) {
    using enum Collective;
    EXPECT_EQ(sizes(three_by_parts(gatherv, 1)), "0 0 -, 4 12 in[0+4], 8 0 in[0+8]");
    EXPECT_EQ(sizes(three_by_parts(gatherv, 1, true)), "0 0 -, 0 12 out[0+4], 8 0 in[0+8]");
    EXPECT_EQ(sizes(three_by_parts(scatterv, 1)), "0 0 -, 12 4 in[0+12], 0 8 -");
    EXPECT_EQ(sizes(three_by_parts(scatterv, 1, true)), "0 0 -, 12 0 in[0+12], 0 8 -");
    EXPECT_EQ(sizes(three_by_parts(allgatherv)), "0 12 -, 4 12 in[0+4], 8 12 in[0+8]");
    EXPECT_EQ(sizes(three_by_parts(allgatherv, 0, true)), "0 12 -, 0 12 out[0+4], 0 12 out[4+8]");
    EXPECT_EQ(sizes(three_by_parts(alltoallv)), "0 12 -, 12 12 in[0+12], 24 12 in[0+24]");
    EXPECT_EQ(sizes(three_by_parts(reduce_scatter)), "12 0 in[0+12], 12 4 in[0+12], 12 8 in[0+12]");
    EXPECT_EQ(sizes(three_by_parts(reduce_scatter, 0, true)),
              "0 12 out[0+12], 0 12 out[0+12], 0 12 out[0+12]");
    // Each sends to all, itself too; rank 0 has nothing to send.
    EXPECT_EQ(sizes(three_by_parts(neighbor_allgather)), "0 12 -, 4 12 in[0+4], 8 12 in[0+8]");
    EXPECT_EQ(sizes(three_by_parts(neighbor_alltoall)), "0 12 -, 12 12 in[0+12], 24 12 in[0+24]");
}

TEST(Problem, GapsBetweenPartsBelongToTheSizes) {
    Problem problem{.collective = Collective::neighbor_alltoall, .ranks = 1};
    problem.parts = {{{{0, 3, 2}, {0, 100, 0}}, {{0, 9, 2}, {0, 0, 0}}}};
    EXPECT_EQ(sizes(problem), "5 11 in[0+5]");
}

TEST(Problem, IsRefusedWithTheReason) {
    using enum Collective;
    EXPECT_THAT(validation_fault({.ranks = 0}), HasSubstr("at least 1 rank"));
    EXPECT_THAT(validation_fault({.ranks = -1}), HasSubstr("at least 1 rank"));
    EXPECT_THAT(validation_fault({.collective = gather, .ranks = 2, .root = 2}), HasSubstr("root 2"));
    EXPECT_THAT(validation_fault({.collective = gather, .ranks = 2, .root = -1}), HasSubstr("root -1"));
    EXPECT_THAT(validation_fault({.collective = alltoall, .ranks = 2, .root = 1}), HasSubstr("no root"));
    EXPECT_THAT(validation_fault({.ranks = 2, .bytes = 1}), HasSubstr("barrier carries no bytes"));
    EXPECT_THAT(validation_fault({.collective = alltoall, .ranks = 2, .in_place = true}),
                HasSubstr("in_place"));
    EXPECT_THAT(validation_fault({.collective = alltoall, .ranks = 4, .bytes = (1ULL << 60) + 1}),
                HasSubstr("too many"));
    EXPECT_EQ(validation_fault({.collective = alltoall, .ranks = 4, .bytes = 1ULL << 60}), "valid");
}

TEST(Problem, HasPartsOrBytes) {
    EXPECT_THAT(validation_fault({.collective = Collective::gatherv, .ranks = 2}),
                HasSubstr("parts of one rank or of all 2"));
    Problem problem{.collective = Collective::gather, .ranks = 2};
    problem.parts.resize(2);
    EXPECT_THAT(validation_fault(problem), HasSubstr("gather has blocks of one length"));
    for (const Collective collective : all_collectives()) {
        if (!has_parts(collective)) continue;
        problem = three_by_parts(collective);
        const bool all_know =
            collective == Collective::allgatherv || collective == Collective::reduce_scatter;
        EXPECT_EQ(problem.bytes, all_know ? 4U : 0U);
        problem.bytes = 5;
        EXPECT_EQ(validation_fault(problem) == "valid", all_know) << name(collective);
        // Of one rank alone, whosever they are.
        problem.bytes = 0;
        problem.parts.resize(1);
        EXPECT_EQ(validation_fault(problem), "valid");
    }
}

TEST(Problem, OnlySomeAreInPlaceAndOnlyReductionsAreOrdered) {
    for (const Collective collective : all_collectives()) {
        Problem problem = three_blocks(collective);
        if (has_parts(collective)) problem = three_by_parts(collective);
        problem.in_place = true;
        if (has_parts(collective) && may_be_in_place(collective))
            problem = three_by_parts(collective, 0, true);
        EXPECT_EQ(validation_fault(problem) == "valid", may_be_in_place(collective)) << name(collective);
        problem = has_parts(collective) ? three_by_parts(collective) : three_blocks(collective);
        problem.ordered = true;
        EXPECT_EQ(validation_fault(problem) == "valid", is_reduction(collective)) << name(collective);
    }
    EXPECT_THAT(validation_fault({.collective = Collective::alltoall, .ranks = 2, .ordered = true}),
                HasSubstr("alltoall does not reduce: it has no order"));
    EXPECT_THAT(validation_fault({.collective = Collective::alltoall, .ranks = 2, .element = 4}),
                HasSubstr("no elements"));
}

TEST(Problem, ReductionsHaveWholeElementsAndOperatorsOfTheirType) {
    const auto fault = [](std::uint64_t bytes, Operator op, Type type) {
        return validation_fault(
            {.collective = Collective::allreduce, .ranks = 2, .bytes = bytes, .op = op, .type = type});
    };
    EXPECT_EQ(fault(8, Operator::sum, Type::float64), "valid");
    EXPECT_EQ(fault(0, Operator::sum, Type::float64), "valid");
    EXPECT_EQ(fault(3, Operator::bit_xor, Type::uint8), "valid");
    EXPECT_THAT(fault(9, Operator::sum, Type::float64), HasSubstr("whole elements of float64"));
    EXPECT_THAT(fault(8, Operator::bit_or, Type::float64),
                HasSubstr("bit_or does not apply to elements of float64"));
    EXPECT_THAT(fault(8, Operator::logical_and, Type::float32), HasSubstr("does not apply"));
    EXPECT_EQ(fault(8, Operator::logical_xor, Type::int64), "valid");
    EXPECT_EQ(fault(24, Operator::maximum_location, Type::float64_int32), "valid");
    EXPECT_THAT(fault(16, Operator::maximum_location, Type::float64_int32),
                HasSubstr("16 bytes are not whole elements of float64_int32"));
    EXPECT_THAT(fault(16, Operator::minimum, Type::complex64),
                HasSubstr("minimum does not apply to elements of complex64"));
}

TEST(Problem, TheCallersOwnOperatorHasElementsOfItsOwn) {
    Problem problem{.collective = Collective::scan,
                    .ranks = 2,
                    .bytes = 48,
                    .op = Operator::user,
                    .type = Type::opaque,
                    .ordered = true,
                    .element = 24};
    EXPECT_EQ(validation_fault(problem), "valid");
    EXPECT_EQ(problem.element_bytes(), 24U);
    problem.bytes = 36;
    EXPECT_THAT(validation_fault(problem), HasSubstr("36 bytes are not whole elements of opaque"));
    problem.element = 0;
    EXPECT_THAT(validation_fault(problem), HasSubstr("elements of an opaque type need a size"));
    problem.type = Type::int32;
    EXPECT_THAT(validation_fault(problem), HasSubstr("the caller's own function"));
    problem.op = Operator::sum;
    EXPECT_EQ(validation_fault(problem), "valid");
    EXPECT_EQ(problem.element_bytes(), 4U);
    problem.element = 4;
    EXPECT_THAT(validation_fault(problem), HasSubstr("the size of an element of int32 is known"));
    problem.element = 0;
    problem.type = Type::opaque;
    EXPECT_THAT(validation_fault(problem), HasSubstr("need a size"));
    problem.element = 4;
    EXPECT_THAT(validation_fault(problem), HasSubstr("function only"));
}

TEST(Problem, PartsOfReductionsAreWholeElements) {
    Problem problem = three_by_parts(Collective::reduce_scatter);
    problem.type = Type::uint64;
    EXPECT_THAT(validation_fault(problem), HasSubstr("4 bytes are not whole elements of uint64"));
    problem.type = Type::uint16;
    EXPECT_EQ(validation_fault(problem), "valid");
}

TEST(Task, NamesAreFoundAgain) {
    for (int i = 0; i <= static_cast<int>(Kind::enable_recv); ++i) {
        const auto kind = static_cast<Kind>(i);
        EXPECT_EQ(find_kind(name(kind)), kind);
    }
    for (int i = 0; i <= static_cast<int>(Operator::user); ++i)
        EXPECT_EQ(find_operator(name(static_cast<Operator>(i))), static_cast<Operator>(i));
    for (int i = 0; i <= static_cast<int>(Type::opaque); ++i)
        EXPECT_EQ(find_type(name(static_cast<Type>(i))), static_cast<Type>(i));
    for (const Space space : {Space::in, Space::out, Space::scratch})
        EXPECT_EQ(find_space(name(space)), space);
    EXPECT_EQ(find_kind("Send"), std::nullopt);
    EXPECT_EQ(find_space(""), std::nullopt);
    EXPECT_EQ(size_in_bytes(Type::int16), 2U);
    EXPECT_EQ(size_in_bytes(Type::float64), 8U);
    EXPECT_EQ(size_in_bytes(Type::float16), 2U);
    EXPECT_EQ(size_in_bytes(Type::complex128), 16U);
    EXPECT_EQ(size_in_bytes(Type::int16_int32), 6U) << "without padding";
    EXPECT_EQ(size_in_bytes(Type::float64_int32), 12U);
    EXPECT_FALSE(applies(Operator::sum, Type::float64_int32));
}

// "out[0+4] of 1 from 8", or "of 0-2" when reduced.
std::vector<std::string> told(const Problem& problem, int rank) {
    validate(problem);
    std::vector<std::string> rows;
    for (const Result& result : results(problem, rank)) {
        std::string ranks = std::to_string(result.first);
        if (result.last != result.first) ranks += "-" + std::to_string(result.last);
        rows.push_back(print(result.out) + " of " + ranks + " from " + std::to_string(result.offset));
    }
    return rows;
}

TEST(Results, OfBlocksOfOneLength) {
    using enum Collective;
    EXPECT_THAT(told(three_blocks(barrier), 0), IsEmpty());
    EXPECT_THAT(told(three_blocks(broadcast, 1), 1), IsEmpty());
    EXPECT_THAT(told(three_blocks(broadcast, 1), 2), ElementsAre("out[0+4] of 1 from 0"));
    for (const bool in_place : {false, true}) {
        EXPECT_THAT(told(three_blocks(gather, 1, in_place), 1),
                    ElementsAre("out[0+4] of 0 from 0", "out[4+4] of 1 from 0", "out[8+4] of 2 from 0"));
        EXPECT_THAT(told(three_blocks(gather, 1, in_place), 0), IsEmpty());
        EXPECT_THAT(told(three_blocks(scatter, 1, in_place), 2), ElementsAre("out[0+4] of 1 from 8"));
        EXPECT_THAT(told(three_blocks(allgather, 0, in_place), 2),
                    ElementsAre("out[0+4] of 0 from 0", "out[4+4] of 1 from 0", "out[8+4] of 2 from 0"));
    }
    EXPECT_THAT(told(three_blocks(scatter, 1), 1), ElementsAre("out[0+4] of 1 from 4"));
    EXPECT_THAT(told(three_blocks(scatter, 1, true), 1), IsEmpty());
    EXPECT_THAT(told(three_blocks(alltoall), 1),
                ElementsAre("out[0+4] of 0 from 4", "out[4+4] of 1 from 4", "out[8+4] of 2 from 4"));
}

TEST(Results, OfReductions) {
    using enum Collective;
    for (const bool in_place : {false, true}) {
        EXPECT_THAT(told(three_blocks(reduce, 1, in_place), 1), ElementsAre("out[0+4] of 0-2 from 0"));
        EXPECT_THAT(told(three_blocks(reduce, 1, in_place), 0), IsEmpty());
        EXPECT_THAT(told(three_blocks(allreduce, 0, in_place), 1), ElementsAre("out[0+4] of 0-2 from 0"));
        EXPECT_THAT(told(three_blocks(reduce_scatter_block, 0, in_place), 2),
                    ElementsAre("out[0+4] of 0-2 from 8"));
        EXPECT_THAT(told(three_blocks(scan, 0, in_place), 0), ElementsAre("out[0+4] of 0 from 0"));
        EXPECT_THAT(told(three_blocks(scan, 0, in_place), 2), ElementsAre("out[0+4] of 0-2 from 0"));
        EXPECT_THAT(told(three_blocks(exscan, 0, in_place), 0), IsEmpty());
        EXPECT_THAT(told(three_blocks(exscan, 0, in_place), 1), ElementsAre("out[0+4] of 0 from 0"));
        EXPECT_THAT(told(three_blocks(exscan, 0, in_place), 2), ElementsAre("out[0+4] of 0-1 from 0"));
        EXPECT_THAT(told(three_by_parts(reduce_scatter, 0, in_place), 2),
                    ElementsAre("out[0+8] of 0-2 from 4"));
        EXPECT_THAT(told(three_by_parts(reduce_scatter, 0, in_place), 0), IsEmpty());
    }
}

TEST(Results, OfParts) {
    using enum Collective;
    for (const bool in_place : {false, true}) {
        EXPECT_THAT(told(three_by_parts(gatherv, 1, in_place), 1),
                    ElementsAre("out[0+4] of 1 from 0", "out[4+8] of 2 from 0"));
        EXPECT_THAT(told(three_by_parts(gatherv, 1, in_place), 2), IsEmpty());
        EXPECT_THAT(told(three_by_parts(scatterv, 1, in_place), 2), ElementsAre("out[0+8] of 1 from 4"));
        EXPECT_THAT(told(three_by_parts(allgatherv, 0, in_place), 0),
                    ElementsAre("out[0+4] of 1 from 0", "out[4+8] of 2 from 0"));
    }
    EXPECT_THAT(told(three_by_parts(scatterv, 1), 1), ElementsAre("out[0+4] of 1 from 0"));
    EXPECT_THAT(told(three_by_parts(scatterv, 1, true), 1), IsEmpty());
    EXPECT_THAT(told(three_by_parts(alltoallv), 2),
                ElementsAre("out[0+4] of 1 from 8", "out[4+8] of 2 from 16"));
    EXPECT_THAT(told(three_by_parts(neighbor_allgather), 2),
                ElementsAre("out[0+4] of 1 from 0", "out[4+8] of 2 from 0"));
}

TEST(Results, BlocksAreWhereTheirRanksHaveThem) {
    Problem problem = three_by_parts(Collective::gatherv, 1);
    problem.parts[2].sends[0].offset = 5;
    problem.parts[1].receives = {{0, 3, 0}, {1, 20, 4}, {2, 1, 8}};
    EXPECT_THAT(told(problem, 1), ElementsAre("out[20+4] of 1 from 0", "out[1+8] of 2 from 5"));
    problem.in_place = true;
    problem.parts[1].sends.clear();
    EXPECT_THAT(told(problem, 1), ElementsAre("out[20+4] of 1 from 0", "out[1+8] of 2 from 5"));
    EXPECT_EQ(input(problem, 1, 1, 2), (Span{Space::out, 21, 2}));
}

TEST(Results, OfTheSameNeighbourTwiceFollowTheOrderOfBothSides) {
    Problem problem{.collective = Collective::neighbor_alltoall, .ranks = 2};
    problem.parts = parts_of_graph(problem, std::vector<Neighbors>{{{1, 0, 1}, {0}}, {{}, {0, 0}}},
                                   [](int, int) { return 4; });
    EXPECT_THAT(told(problem, 0),
                ElementsAre("out[0+4] of 1 from 0", "out[4+4] of 0 from 0", "out[8+4] of 1 from 4"));
}

// Whatever the problem: results are whole elements inside out, apart from each other, of bytes that the ranks
// have.
TEST(Results, FitTheMemories) {
    for (const Collective collective : all_collectives()) {
        for (const int ranks : {1, 2, 3, 7}) {
            for (const Problem& problem : sample_problems(collective, ranks, 24)) {
                validate(problem);
                for (int rank = 0; rank < ranks; ++rank) {
                    std::vector<Result> all = results(problem, rank);
                    std::sort(all.begin(), all.end(),
                              [](const Result& a, const Result& b) { return a.out.offset < b.out.offset; });
                    std::uint64_t end = 0;
                    for (const Result& result : all) {
                        EXPECT_GT(result.out.length, 0U);
                        EXPECT_GE(result.out.offset, end);
                        end = result.out.end();
                        for (int from = result.first; from <= result.last; ++from)
                            EXPECT_LE(result.offset + result.out.length, whole_input(problem, from).length);
                        EXPECT_TRUE(result.first == result.last || is_reduction(collective));
                    }
                    EXPECT_LE(end, out_bytes(problem, rank));
                    const Span own = whole_input(problem, rank);
                    EXPECT_LE(own.end(),
                              own.space == Space::in ? in_bytes(problem, rank) : out_bytes(problem, rank));
                }
            }
        }
    }
}

}  // namespace
}  // namespace lapwing
