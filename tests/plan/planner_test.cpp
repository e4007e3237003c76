#include "plan/planner.hpp"

#include <gtest/gtest.h>

#include "base/error.hpp"
#include "engines/host/engine.hpp"
#include "support/process_link.hpp"
#include "task/sample.hpp"
#include "task/text.hpp"

namespace lapwing {
namespace {

Problem alltoall(std::uint64_t bytes) {
    return {.collective = Collective::alltoall, .ranks = 4, .bytes = bytes};
}

class PlannerTest : public testing::Test {
  protected:
    std::vector<std::unique_ptr<Link>> links = process_links(4, true);
    std::vector<EngineOfGroup> by_host() {
        return {{&host_engine(), [this] { return open_host_group(*links[1]); }}};
    }
    // And by another engine, which is costly to open.
    std::vector<EngineOfGroup> by_costly(int& opened) {
        const auto open = [this, &opened] {
            ++opened;
            return open_host_group(*links[1]);
        };
        return {{&host_engine(), open, true}, by_host().front()};
    }
    PlanOptions options;
};

TEST_F(PlannerTest, ARepeatedProblemBuildsNothing) {
    Planner planner(1, by_host(), options);
    Plan& first = planner.plan(alltoall(8));
    Prepared* prepared = first.prepared.get();
    planner.plan(alltoall(16));
    EXPECT_EQ(&planner.plan(alltoall(8)), &first);
    EXPECT_EQ(planner.plan(alltoall(8)).prepared.get(), prepared);
    EXPECT_EQ(planner.size(), 2U);
}

TEST_F(PlannerTest, AnEngineThatCannotBeOpenedIsOpenedOnce) {
    int opened = 0;
    const auto fails = [&opened]() -> std::unique_ptr<GroupEngine> {
        ++opened;
        throw Error(ErrorCode::system, "no descriptors");
    };
    Planner planner(1, {{&host_engine(), fails}}, options);
    for (int i = 0; i < 2; ++i) {
        try {
            planner.plan(alltoall(8));
            ADD_FAILURE();
        } catch (const Error& error) {
            EXPECT_STREQ(error.what(), "no descriptors");
        }
    }
    EXPECT_EQ(opened, 1);
}

// A group that runs few collectives never opens it.
TEST_F(PlannerTest, ACostlyEngineIsOpenedAfterManyCollectives) {
    int opened = 0;
    Planner planner(1, by_costly(opened), options);
    const Plan& early = planner.plan(alltoall(8));
    const Prepared* const prepared = early.prepared.get();
    for (std::uint64_t i = 2; i < Planner::worth_opening; ++i)
        EXPECT_EQ(planner.plan(alltoall(8)).prepared.get(), prepared);
    EXPECT_EQ(opened, 0);
    const Plan& late = planner.plan(alltoall(8));
    EXPECT_EQ(opened, 1);
    EXPECT_NE(late.prepared.get(), prepared);
    EXPECT_EQ(early.prepared.get(), prepared);  // it may be in flight
    EXPECT_EQ(&planner.plan(alltoall(8)), &late);
}

TEST_F(PlannerTest, LongCollectivesOpenACostlyEngineSooner) {
    int opened = 0;
    Planner planner(1, by_costly(opened), options);
    planner.plan(alltoall(32 << 10));
    EXPECT_EQ(opened, 0);
    planner.plan(alltoall(1 << 20));
    EXPECT_EQ(opened, 1);
}

TEST_F(PlannerTest, APlanSaysWhatItIs) {
    options.requested = RequestedAlgorithms::parse("ialltoall=pairwise:window=2");
    Planner planner(1, by_host(), options);
    const Plan& plan = planner.plan(alltoall(8));
    EXPECT_EQ(print(plan.choice), "pairwise:window=2");
    EXPECT_STREQ(plan.engine->name(), "host");
    EXPECT_EQ(plan.bytes_sent, 24U);
    EXPECT_EQ(plan.tasks, 10U);  // three receives, sends and waits, a copy
}

TEST_F(PlannerTest, ForgetsWhatWasNotUsedForLongestButNothingInFlight) {
    Planner planner(1, by_host(), options);
    Plan& in_flight = planner.plan(alltoall(1));
    in_flight.in_flight = 1;
    const Prepared* prepared = in_flight.prepared.get();
    for (std::uint64_t bytes = 2; bytes < 1000; ++bytes) planner.plan(alltoall(bytes));
    EXPECT_EQ(planner.size(), Planner::max_plans);
    EXPECT_EQ(planner.plan(alltoall(1)).prepared.get(), prepared);
}

TEST_F(PlannerTest, EveryCollectiveHasPlans) {
    options.check = true;
    Planner planner(1, by_host(), options);
    for (const Collective collective : all_collectives())
        for (const Problem& problem : sample_problems(collective, 4, 24))
            EXPECT_NO_THROW(planner.plan(problem)) << print(problem);
}

TEST_F(PlannerTest, AReductionIsPlannedByItsOperator) {
    Planner planner(1, by_host(), options);
    Problem problem{.collective = Collective::allreduce, .ranks = 4, .bytes = 8, .type = Type::int32};
    Plan& sum = planner.plan(problem);
    problem.op = Operator::maximum;
    EXPECT_NE(&planner.plan(problem), &sum);
    problem.op = Operator::sum;
    problem.ordered = true;
    EXPECT_NE(&planner.plan(problem), &sum);
    problem.ordered = false;
    EXPECT_EQ(&planner.plan(problem), &sum);
}

TEST_F(PlannerTest, WhereTheRanksStandIsPartOfTheProblem) {
    Planner planner(1, by_host(), options);
    Problem problem{.collective = Collective::broadcast, .ranks = 4, .bytes = 8};
    Plan& unknown = planner.plan(problem);
    problem.placement = std::make_shared<Placement>(std::vector<std::uint64_t>{0, 0, 1, 1});
    Plan& known = planner.plan(problem);
    EXPECT_NE(&known, &unknown);
    // Another group's, which says the same.
    problem.placement = std::make_shared<Placement>(std::vector<std::uint64_t>{2, 2, 1, 1});
    EXPECT_EQ(&planner.plan(problem), &known);
    problem.placement = std::make_shared<Placement>(std::vector<std::uint64_t>{0, 1, 0, 1});
    EXPECT_NE(&planner.plan(problem), &known);
    problem.placement = nullptr;
    EXPECT_EQ(&planner.plan(problem), &unknown);
}

// A rank plans with its own parts only.
TEST_F(PlannerTest, OtherPartsAreAnotherProblem) {
    Planner planner(1, by_host(), options);
    Problem problem{.collective = Collective::alltoallv, .ranks = 4};
    const auto with_parts = [&](std::uint64_t bytes) {
        problem.parts = {all_parts(problem, [=](int, int) { return bytes; })[1]};
        return problem;
    };
    Plan& short_blocks = planner.plan(with_parts(8));
    EXPECT_EQ(short_blocks.bytes_sent, 24U);
    EXPECT_EQ(planner.plan(with_parts(9)).bytes_sent, 27U);
    EXPECT_EQ(&planner.plan(with_parts(8)), &short_blocks);
    EXPECT_EQ(planner.size(), 2U);
}

}  // namespace
}  // namespace lapwing
