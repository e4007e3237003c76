#include "plan/selection.hpp"

#include "collectives/catalogue.hpp"
#include "support/errors.hpp"
#include "support/in_place_forms.hpp"
#include "support/unit.hpp"
#include "task/text.hpp"

namespace lapwing {
namespace {

std::string message_of_request(const char* text) {
    return error_of([&] { RequestedAlgorithms::parse(text); });
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
    std::string why;
    const Selection selection = select(problem, RequestedAlgorithms::parse("ialltoall=ring"), {}, &why);
    EXPECT_STREQ(selection.choice.algorithm->name, "ring");
    EXPECT_EQ(why, "requested");
}

TEST(Select, TakesTheCheapestByTheConstantsOfEngineAndPlace) {
    const Problem problem{.collective = Collective::alltoall, .ranks = 8, .bytes = 64};
    for (const bool several : {false, true}) {
        for (const char* engine : {"kernel", "host"}) {
            const Guidance guidance{nullptr, {engine, several}};
            std::string why;
            const Selection selection = select(problem, {}, guidance, &why);
            EXPECT_EQ(selection.by, Selection::By::cost);
            EXPECT_EQ(selection.choice, candidates(problem, guidance.machine(problem)).front().choice);
            const auto shipped = shipped_tuning().constants(problem, guidance.surroundings);
            EXPECT_EQ(guidance.machine(problem).latency, shipped->machine->latency);
            EXPECT_EQ(why, "cheapest by the cost model, constants: " + shipped_tuning().where(*shipped));
        }
    }
}

TEST(Select, TakesTheCheapestWhenTheWishDeclines) {
    const Problem problem{.collective = Collective::alltoall, .ranks = 1024, .bytes = 1 << 20};
    std::string why;
    const Selection selection = select(problem, RequestedAlgorithms::parse("ialltoall=ring"), {}, &why);
    EXPECT_STRNE(selection.choice.algorithm->name, "ring");
    EXPECT_THAT(why, testing::HasSubstr("ring declined: "));
    EXPECT_THAT(why, testing::HasSubstr("cheapest"));
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
