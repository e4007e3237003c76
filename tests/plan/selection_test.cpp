#include "plan/selection.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.hpp"
#include "collectives/catalogue.hpp"
#include "support/in_place_forms.hpp"
#include "task/sample.hpp"
#include "task/text.hpp"

namespace lapwing {
namespace {

std::string message_of_request(const char* text) {
    try {
        RequestedAlgorithms::parse(text);
    } catch (const Error& error) {
        return error.what();
    }
    return "no error";
}

TEST(RequestedAlgorithms, ByCollectiveInAnySpelling) {
    const RequestedAlgorithms requested =
        RequestedAlgorithms::parse("ialltoall=pairwise:window=6,bcast=binomial,MPI_Ibarrier=dissemination");
    EXPECT_EQ(print(*requested.find(Collective::alltoall)), "pairwise:window=6");
    EXPECT_EQ(print(*requested.find(Collective::broadcast)), "binomial");
    EXPECT_EQ(print(*requested.find(Collective::barrier)), "dissemination");
    EXPECT_EQ(requested.find(Collective::gather), nullptr);
    EXPECT_EQ(RequestedAlgorithms::parse("").find(Collective::gather), nullptr);
}

TEST(RequestedAlgorithms, ErrorsNameTheNearest) {
    EXPECT_EQ(message_of_request("ialltoal=flat"),
              "unknown collective 'ialltoal'; did you mean 'ialltoall'?");
    EXPECT_EQ(message_of_request("ialltoall=falt"), "alltoall has no algorithm 'falt'; did you mean 'flat'?");
    EXPECT_EQ(message_of_request("ialltoall"), "'ialltoall' is not of the form COLLECTIVE=ALGORITHM");
    EXPECT_EQ(message_of_request("ialltoall=flat,alltoall=ring"), "alltoall is given twice");
}

TEST(Select, TakesTheWish) {
    const Problem problem{.collective = Collective::alltoall, .ranks = 8, .bytes = 64};
    const Selection selection = select(problem, RequestedAlgorithms::parse("ialltoall=ring"));
    EXPECT_STREQ(selection.choice.algorithm->name, "ring");
    EXPECT_EQ(selection.why, "requested");
}

TEST(Select, TakesTheCheapestByTheConstantsOfEngineAndPlace) {
    const Problem problem{.collective = Collective::alltoall, .ranks = 8, .bytes = 64};
    for (const bool several : {false, true}) {
        for (const char* engine : {"kernel", "host"}) {
            const Guidance guidance{nullptr, {engine, several}};
            const Selection selection = select(problem, {}, guidance);
            EXPECT_EQ(selection.by, Selection::By::cost);
            EXPECT_EQ(selection.choice, candidates(problem, guidance.machine(problem)).front().choice);
            const auto shipped = shipped_tuning().constants(problem, guidance.surroundings);
            EXPECT_EQ(guidance.machine(problem).latency, shipped->machine->latency);
            EXPECT_EQ(selection.why,
                      "cheapest by the cost model, constants: " + shipped_tuning().where(*shipped));
        }
    }
}

TEST(Select, TakesTheCheapestWhenTheWishDeclines) {
    const Problem problem{.collective = Collective::alltoall, .ranks = 1024, .bytes = 1 << 20};
    const Selection selection = select(problem, RequestedAlgorithms::parse("ialltoall=ring"));
    EXPECT_STRNE(selection.choice.algorithm->name, "ring");
    EXPECT_THAT(selection.why, testing::HasSubstr("ring declined: "));
    EXPECT_THAT(selection.why, testing::HasSubstr("cheapest"));
}

TEST(Candidates, OfTheTextbooksMachine) {
    const auto chosen = [](Collective collective, int ranks, std::uint64_t bytes) {
        return std::string(candidates({.collective = collective, .ranks = ranks, .bytes = bytes})
                               .front()
                               .choice.algorithm->name);
    };
    EXPECT_EQ(chosen(Collective::barrier, 4, 0), "flat");
    EXPECT_EQ(chosen(Collective::barrier, 1024, 0), "recursive_doubling");
    EXPECT_EQ(chosen(Collective::barrier, 1025, 0), "dissemination");
    EXPECT_EQ(chosen(Collective::alltoall, 16, 8), "flat");
    EXPECT_EQ(chosen(Collective::alltoall, 1024, 8), "bruck");
    EXPECT_EQ(chosen(Collective::alltoall, 64, 1 << 20), "pairwise");
    EXPECT_EQ(chosen(Collective::alltoall, 2, 1 << 20), "flat");
    EXPECT_EQ(chosen(Collective::broadcast, 64, 1 << 24), "scatter_recursive_doubling");
    EXPECT_EQ(chosen(Collective::broadcast, 60, 1 << 24), "scatter_ring");
}

// All ranks decide alike: what a rank alone knows, its parts, must not change anything.
TEST(Select, DoesNotLookAtTheParts) {
    for (const Collective collective : all_collectives()) {
        if (!has_parts(collective)) continue;
        for (const Problem& problem : sample_problems(collective, 7, 1000)) {
            const std::string whole = print(select(problem).choice);
            for (int rank = 0; rank < problem.ranks; ++rank) {
                Problem alone = problem;
                alone.parts = {problem.parts_of(rank)};
                EXPECT_EQ(print(select(alone).choice), whole) << print(problem);
            }
        }
    }
}

// Nor whether it is in place, where only the root knows that.
TEST(Select, DoesNotLookAtWhatOnlyTheRootKnows) {
    for (const Collective collective : {Collective::gather, Collective::gatherv, Collective::scatter,
                                        Collective::scatterv, Collective::reduce}) {
        for (const Problem& problem : sample_problems(collective, 6, 4000)) {
            Problem other = problem;
            other.in_place = !problem.in_place;
            EXPECT_EQ(print(select(problem).choice), print(select(other).choice)) << print(problem);
            for (const Algorithm* algorithm : algorithms_of(collective)) {
                const Parameters usual = default_parameters(*algorithm);
                EXPECT_EQ(static_cast<bool>(algorithm->applies(problem, usual)),
                          static_cast<bool>(algorithm->applies(other, usual)));
            }
        }
    }
}

TEST(Candidates, CheapestFirstDeclinersLast) {
    const auto found = candidates({.collective = Collective::alltoall, .ranks = 1024, .bytes = 1 << 20});
    ASSERT_EQ(found.size(), 5U);
    EXPECT_TRUE(found.front().applies);
    EXPECT_FALSE(found.back().applies);
    EXPECT_LE(found[0].cost, found[1].cost);
}

// What ranks must decide alike although they do not see the same: a rank may be in place where others are
// not.
TEST(Agreement, AnAlgorithmAppliesToBothFormsOfAProblem) {
    in_place_forms::for_each_problem([](const Problem& problem, const Choice& choice) {
        const Problem other = in_place_forms::in_place(problem, true);
        EXPECT_TRUE(choice.algorithm->applies(other, choice.parameters)) << print(problem);
        EXPECT_EQ(print(select(problem, {}).choice), print(select(other, {}).choice)) << print(problem);
    });
}

}  // namespace
}  // namespace lapwing
