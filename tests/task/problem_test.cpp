#include "task/problem.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.hpp"

namespace lapwing {
namespace {

using testing::HasSubstr;

constexpr Collective all[] = {
#define LAPWING_COLLECTIVE(name, mpi_name, rooted) Collective::name,
#include "task/collectives.def"
};

std::string fault(const Problem& problem) {
    try {
        validate(problem);
    } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
        return error.what();
    }
    return "valid";
}

TEST(Collective, IsFoundByAllOfItsNames) {
    for (const char* written : {"broadcast", "bcast", "ibcast", "MPI_Ibcast", "mpi_bcast", "IBROADCAST"}) {
        EXPECT_EQ(find_collective(written), Collective::broadcast) << written;
    }
    for (const char* written : {"", "b", "bcas", "MPI_", "MPI_Iscatter", "ii"}) {
        EXPECT_EQ(find_collective(written), std::nullopt) << written;
    }
    for (const Collective collective : all) {
        EXPECT_EQ(find_collective(name(collective)), collective);
        EXPECT_EQ(find_collective(mpi_name(collective)), collective);
    }
}

TEST(Collective, HasARootOrNot) {
    EXPECT_TRUE(has_root(Collective::broadcast));
    EXPECT_TRUE(has_root(Collective::gather));
    EXPECT_TRUE(has_root(Collective::reduce));
    EXPECT_FALSE(has_root(Collective::barrier));
    EXPECT_FALSE(has_root(Collective::alltoall));
    EXPECT_FALSE(has_root(Collective::allreduce));
    EXPECT_TRUE(is_reduction(Collective::reduce));
    EXPECT_TRUE(is_reduction(Collective::allreduce));
    EXPECT_FALSE(is_reduction(Collective::gather));
}

struct Shape {
    Problem problem;
    int rank;
    std::uint64_t in;
    std::uint64_t out;
};

TEST(Problem, GivesEveryRankItsSizes) {
    const Shape shapes[] = {
        {{.collective = Collective::barrier, .ranks = 4}, 1, 0, 0},
        {{.collective = Collective::broadcast, .ranks = 4, .root = 1, .bytes = 6}, 1, 6, 0},
        {{.collective = Collective::broadcast, .ranks = 4, .root = 1, .bytes = 6}, 0, 0, 6},
        {{.collective = Collective::gather, .ranks = 4, .root = 1, .bytes = 6}, 1, 6, 24},
        {{.collective = Collective::gather, .ranks = 4, .root = 1, .bytes = 6}, 0, 6, 0},
        {{.collective = Collective::gather, .ranks = 4, .root = 1, .bytes = 6, .in_place = true}, 1, 0, 24},
        {{.collective = Collective::gather, .ranks = 4, .root = 1, .bytes = 6, .in_place = true}, 0, 6, 0},
        {{.collective = Collective::alltoall, .ranks = 4, .bytes = 6}, 2, 24, 24},
        {{.collective = Collective::reduce, .ranks = 4, .root = 3, .bytes = 6}, 3, 6, 6},
        {{.collective = Collective::reduce, .ranks = 4, .root = 3, .bytes = 6}, 2, 6, 0},
        {{.collective = Collective::allreduce, .ranks = 4, .bytes = 6}, 2, 6, 6},
    };
    for (const Shape& shape : shapes) {
        EXPECT_EQ(fault(shape.problem), "valid");
        EXPECT_EQ(in_bytes(shape.problem, shape.rank), shape.in) << name(shape.problem.collective);
        EXPECT_EQ(out_bytes(shape.problem, shape.rank), shape.out) << name(shape.problem.collective);
    }
}

TEST(Problem, IsRefusedWithTheReason) {
    EXPECT_THAT(fault({.ranks = 0}), HasSubstr("at least 1 rank"));
    EXPECT_THAT(fault({.ranks = -1}), HasSubstr("at least 1 rank"));
    EXPECT_THAT(fault({.collective = Collective::gather, .ranks = 2, .root = 2}), HasSubstr("root 2"));
    EXPECT_THAT(fault({.collective = Collective::gather, .ranks = 2, .root = -1}), HasSubstr("root -1"));
    EXPECT_THAT(fault({.collective = Collective::alltoall, .ranks = 2, .root = 1}), HasSubstr("no root"));
    EXPECT_THAT(fault({.ranks = 2, .bytes = 1}), HasSubstr("no bytes"));
    EXPECT_THAT(fault({.collective = Collective::alltoall, .ranks = 2, .in_place = true}),
                HasSubstr("in_place"));
    EXPECT_THAT(fault({.collective = Collective::alltoall, .ranks = 4, .bytes = (1ULL << 60) + 1}),
                HasSubstr("too many"));
    EXPECT_EQ(fault({.collective = Collective::alltoall, .ranks = 4, .bytes = 1ULL << 60}), "valid");
}

TEST(Problem, ReductionsHaveWholeElementsAndOperatorsOfTheirType) {
    const auto reduction = [](std::uint64_t bytes, Operator op, Type type) {
        return Problem{
            .collective = Collective::allreduce, .ranks = 2, .bytes = bytes, .op = op, .type = type};
    };
    EXPECT_EQ(fault(reduction(8, Operator::sum, Type::float64)), "valid");
    EXPECT_EQ(fault(reduction(0, Operator::sum, Type::float64)), "valid");
    EXPECT_EQ(fault(reduction(3, Operator::bit_xor, Type::uint8)), "valid");
    EXPECT_THAT(fault(reduction(9, Operator::sum, Type::float64)), HasSubstr("whole elements of float64"));
    EXPECT_THAT(fault(reduction(8, Operator::bit_or, Type::float64)), HasSubstr("for integers"));
}

TEST(Task, NamesAreFoundAgain) {
    for (int i = 0; i <= static_cast<int>(Kind::enable_recv); ++i) {
        const auto kind = static_cast<Kind>(i);
        EXPECT_EQ(find_kind(name(kind)), kind);
        EXPECT_STRNE(meaning(kind), "");
    }
    for (int i = 0; i <= static_cast<int>(Operator::bit_xor); ++i) {
        EXPECT_EQ(find_operator(name(static_cast<Operator>(i))), static_cast<Operator>(i));
    }
    for (int i = 0; i <= static_cast<int>(Type::float64); ++i) {
        EXPECT_EQ(find_type(name(static_cast<Type>(i))), static_cast<Type>(i));
    }
    for (const Space space : {Space::in, Space::out, Space::scratch}) {
        EXPECT_EQ(find_space(name(space)), space);
    }
    EXPECT_EQ(find_kind("Send"), std::nullopt);
    EXPECT_EQ(find_space(""), std::nullopt);
    EXPECT_EQ(size_in_bytes(Type::int16), 2U);
    EXPECT_EQ(size_in_bytes(Type::float64), 8U);
    EXPECT_TRUE(is_integer(Type::uint64));
    EXPECT_FALSE(is_integer(Type::float32));
    EXPECT_TRUE(sends(Kind::write));
    EXPECT_FALSE(sends(Kind::recv));
}

}  // namespace
}  // namespace lapwing
