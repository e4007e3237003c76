#include "collectives/catalogue.hpp"

#include "problems.hpp"
#include "support/errors.hpp"
#include "support/unit.hpp"

namespace lapwing {
namespace {

std::string message_of(Collective collective, const char* text) {
    return error_of([&] { parse_choice(collective, text); }, ErrorCode::invalid_argument);
}

TEST(Catalogue, EveryRowIsWhole) {
    std::set<std::pair<Collective, std::string>> names;
    for (const Algorithm* algorithm : catalogue()) {
        EXPECT_TRUE(names.emplace(algorithm->collective, algorithm->name).second)
            << algorithm->name << " twice";
        EXPECT_STRNE(algorithm->summary, "");
        EXPECT_STRNE(algorithm->source, "");
        EXPECT_LE(algorithm->parameters.size(), Parameters{}.size());
        for (const Parameter& parameter : algorithm->parameters) {
            EXPECT_LE(parameter.min, parameter.default_value);
            EXPECT_LE(parameter.default_value, parameter.max);
        }
    }
}

TEST(Choice, ParsesAndPrints) {
    EXPECT_EQ(print(parse_choice(Collective::alltoall, "flat")), "flat");
    EXPECT_EQ(print(parse_choice(Collective::alltoall, "pairwise")), "pairwise:window=4");
    EXPECT_EQ(print(parse_choice(Collective::alltoall, "pairwise:window=6")), "pairwise:window=6");
    EXPECT_EQ(print(parse_choice(Collective::broadcast, "k_nomial:k=3")), "k_nomial:k=3");
}

TEST(Choice, ErrorsNameTheNearest) {
    EXPECT_EQ(message_of(Collective::alltoall, "pairwize"),
              "alltoall has no algorithm 'pairwize'; did you mean 'pairwise'?");
    EXPECT_EQ(message_of(Collective::alltoall, "pairwise:widow=6"),
              "pairwise has no parameter 'widow'; did you mean 'window'?");
    EXPECT_EQ(message_of(Collective::alltoall, "pairwise:window=0"),
              "pairwise:window must be a number from 1 to 1048576, not '0'");
    EXPECT_EQ(message_of(Collective::alltoall, "pairwise:window=6x"),
              "pairwise:window must be a number from 1 to 1048576, not '6x'");
    EXPECT_EQ(message_of(Collective::alltoall, "pairwise:window"),
              "pairwise:window must be a number from 1 to 1048576, not ''");
    EXPECT_EQ(message_of(Collective::alltoall, "flat:window=6"), "flat has no parameters: remove 'window=6'");
}

TEST(Build, NoBytesNoTasks) {
    for (const Algorithm* algorithm : catalogue()) {
        if (algorithm->collective == Collective::barrier || has_parts(algorithm->collective)) continue;
        const Choice choice{algorithm, default_parameters(*algorithm)};
        EXPECT_TRUE(build({.collective = algorithm->collective, .ranks = 5}, 2, choice).tasks.empty());
    }
    // With parts, what a rank sends and receives is what counts; it need not know of other bytes.
    for (const Algorithm* algorithm : catalogue()) {
        if (!has_parts(algorithm->collective)) continue;
        const Choice choice{algorithm, default_parameters(*algorithm)};
        Problem problem = problem_of(algorithm->collective, 5);
        problem.parts = all_parts(problem, [](int, int) { return 0; });
        if (!algorithm->applies(problem, choice.parameters)) continue;
        EXPECT_TRUE(build(problem, 2, choice).tasks.empty())
            << name(algorithm->collective) << " " << algorithm->name;
    }
}

}  // namespace
}  // namespace lapwing
