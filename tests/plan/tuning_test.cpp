#include "plan/tuning.hpp"

#include "base/error.hpp"
#include "collectives/catalogue.hpp"
#include "engines/host/engine.hpp"
#include "plan/planner.hpp"
#include "plan/selection.hpp"
#include "support/errors.hpp"
#include "support/process_link.hpp"
#include "support/unit.hpp"

namespace lapwing {
namespace {

using testing::HasSubstr;

// A file with one table; of its fields some may be others.
std::string file(const std::string& choices, const std::string& ranks = "[4, 8]",
                 const std::string& more = "") {
    return R"({"lapwing_tuning": 1, "tables": [{"engine": "host", "hosts": "one", "ranks": )" + ranks + more +
           R"(, "choices": )" + choices + "}]}";
}

std::string message_of(const std::string& text) {
    return error_of([&] { Tuning::parse(text, "my.json"); }, ErrorCode::parse);
}

Problem alltoall(int ranks, std::uint64_t bytes) {
    return {.collective = Collective::alltoall, .ranks = ranks, .bytes = bytes};
}

const Surroundings inside{"host", false};

TEST(Tuning, ARowCountsFromItsBytesToTheNext) {
    const Tuning tuning = Tuning::parse(
        file(R"({"alltoall": [{"from": 8, "take": "bruck"}, {"from": 100, "take": "pairwise:window=2"}]})"),
        "my.json");
    EXPECT_EQ(tuning.find(alltoall(4, 7), inside).row, nullptr);
    EXPECT_EQ(print(tuning.find(alltoall(4, 8), inside).row->choice), "bruck");
    EXPECT_EQ(print(tuning.find(alltoall(8, 99), inside).row->choice), "bruck");
    const Tuning::Found found = tuning.find(alltoall(8, 100), inside);
    EXPECT_EQ(print(found.row->choice), "pairwise:window=2");
    EXPECT_EQ(found.where, "my.json, tables[0].choices.alltoall[1]");
}

TEST(Tuning, OtherGroupsAndCollectivesAreNotMeant) {
    const Tuning tuning = Tuning::parse(file(R"({"alltoall": [{"from": 0, "take": "bruck"}]})"), "my.json");
    EXPECT_EQ(tuning.find(alltoall(3, 8), inside).row, nullptr);
    EXPECT_EQ(tuning.find(alltoall(9, 8), inside).row, nullptr);
    EXPECT_EQ(tuning.find(alltoall(4, 8), {"host", true}).row, nullptr);
    EXPECT_EQ(tuning.find(alltoall(4, 8), {"kernel", false}).row, nullptr);
    EXPECT_EQ(tuning.find({.collective = Collective::barrier, .ranks = 4}, inside).row, nullptr);
}

TEST(Tuning, ConstantsAreThoseOfTheNearestNumberOfRanks) {
    const Tuning tuning = Tuning::parse(R"({"lapwing_tuning": 1, "tables": [
        {"engine": "host", "hosts": "one", "ranks": [2, 2], "machine": {"latency": 0.5}},
        {"engine": "host", "hosts": "one", "ranks": [16, 32], "machine": {"latency": 0.25, "intra_node_task": 0.125}},
        {"engine": "host", "hosts": "one", "ranks": [6, 6]}]})",
                                        "my.json");
    const auto latency = [&](int ranks) {
        return tuning.constants(alltoall(ranks, 8), inside)->machine->latency;
    };
    EXPECT_EQ(latency(2), 0.5);
    EXPECT_EQ(latency(5), 0.5);
    EXPECT_EQ(latency(6), 0.25);
    EXPECT_EQ(latency(1000), 0.25);
    EXPECT_EQ(tuning.constants(alltoall(2, 8), {"kernel", true}), nullptr);
    // What is not given keeps its usual value.
    EXPECT_EQ(tuning.constants(alltoall(2, 8), inside)->machine->per_byte, Machine{}.per_byte);
    EXPECT_EQ(tuning.constants(alltoall(16, 8), inside)->machine->intra_node_task, 0.125);
    EXPECT_EQ(tuning.constants(alltoall(16, 8), inside)->machine->intra_node_latency,
              Machine{}.intra_node_latency);
}

Problem alltoall_on_hosts(const std::vector<std::uint64_t>& host_of) {
    Problem problem = alltoall(static_cast<int>(host_of.size()), 8);
    problem.placement = std::make_shared<const Placement>(host_of);
    return problem;
}

TEST(Tuning, RanksOnAHostDecideBeforeTheNumberOfRanks) {
    const Surroundings several{"kernel", true};
    const Tuning tuning = Tuning::parse(R"({"lapwing_tuning": 1, "tables": [
        {"engine": "kernel", "hosts": "several", "ranks": [4, 4], "ranks_per_host": [1, 1],
         "machine": {"latency": 1}, "choices": {"alltoall": [{"from": 0, "take": "bruck"}]}},
        {"engine": "kernel", "hosts": "several", "ranks": [4, 4], "ranks_per_host": [2, 3],
         "machine": {"latency": 2}, "choices": {"alltoall": [{"from": 0, "take": "ring"}]}},
        {"engine": "kernel", "hosts": "several", "ranks": [64, 64], "ranks_per_host": [16, 16],
         "machine": {"latency": 3}}]})",
                                        "my.json");
    const auto row = [&](const Problem& problem) { return tuning.find(problem, several).row; };
    EXPECT_EQ(print(row(alltoall(4, 8))->choice), "bruck");
    EXPECT_EQ(print(row(alltoall_on_hosts({0, 0, 1, 1}))->choice), "ring");
    EXPECT_EQ(print(row(alltoall_on_hosts({0, 1, 1, 1}))->choice), "ring");
    EXPECT_EQ(row(alltoall_on_hosts({0, 0, 0, 1, 1})), nullptr);
    const auto latency = [&](const Problem& problem) {
        return tuning.constants(problem, several)->machine->latency;
    };
    EXPECT_EQ(latency(alltoall(64, 8)), 1);
    EXPECT_EQ(latency(alltoall_on_hosts({0, 0, 0, 1, 1})), 2);
    EXPECT_EQ(latency(alltoall_on_hosts({0, 0, 0, 0, 0, 0, 0, 0, 0, 1})), 3);
}

TEST(Tuning, ErrorsNameThePlaceAndTheNearest) {
    const auto of_choices = [](const std::string& choices) { return message_of(file(choices)); };
    EXPECT_THAT(message_of("{\n \"lapwing_tuning\": 1,\n]"), HasSubstr("my.json: at line 3, column 1"));
    EXPECT_THAT(message_of(R"({"lapwing_tuning": 1e999})"), HasSubstr("my.json: number overflow"));
    EXPECT_THAT(message_of("[1]"), HasSubstr("my.json: is not a tuning file"));
    EXPECT_THAT(message_of("{}"), HasSubstr("is not a tuning file"));
    EXPECT_EQ(message_of(R"({"lapwing_tuning": 2, "tables": []})"),
              "my.json: lapwing_tuning: must be a whole number from 1 to 1");
    EXPECT_EQ(message_of(R"({"lapwing_tuning": 1, "table": []})"),
              "my.json: unknown field 'table'; did you mean 'tables'?");
    EXPECT_EQ(message_of(R"({"lapwing_tuning": 1})"), "my.json: the field 'tables' is missing");
    EXPECT_EQ(of_choices(R"({"alltoal": []})"),
              "my.json: tables[0].choices: unknown field 'alltoal'; did you mean 'alltoall'?");
    EXPECT_EQ(
        of_choices(R"({"alltoall": [{"from": 0, "take": "pairwize"}]})"),
        "my.json: tables[0].choices.alltoall[0].take: alltoall has no algorithm 'pairwize'; did you mean "
        "'pairwise'?");
    EXPECT_THAT(of_choices(R"({"alltoall": [{"from": 0, "take": "pairwise:window=0"}]})"),
                HasSubstr("alltoall[0].take: pairwise:window must be a number from 1"));
    EXPECT_EQ(
        of_choices(R"({"alltoall": [{"from": 9, "take": "ring"}, {"from": 9, "take": "flat"}]})"),
        "my.json: tables[0].choices.alltoall[1].from: must be more than 9, the start of the previous row");
    EXPECT_THAT(of_choices(R"({"alltoall": [{"from": -1, "take": "ring"}]})"),
                HasSubstr("alltoall[0].from: must be a whole number from 0"));
    EXPECT_THAT(of_choices(R"({"alltoall": {}})"), HasSubstr("choices.alltoall: must be a list"));
    EXPECT_THAT(message_of(file("{}", "[8, 4]")), HasSubstr("tables[0].ranks[1]: must be a whole number"));
    EXPECT_THAT(message_of(file("{}", "[4]")), HasSubstr("must be the first and the last number of ranks"));
    EXPECT_THAT(message_of(file("{}", "[4, 4]", R"(, "machine": {"latency": -1})")),
                HasSubstr("tables[0].machine.latency: must be a number from 0"));
    EXPECT_THAT(message_of(R"({"lapwing_tuning": 1, "tables": [{"engine": "hots"}]})"),
                HasSubstr("tables[0].engine: unknown word 'hots'; did you mean 'host'?"));
}

TEST(Tuning, TablesOfEnginesThatThisBuildLacksDoNotMatter) {
    const Tuning tuning = Tuning::parse(
        R"({"lapwing_tuning": 1, "tables": [{"engine": "another", "hosts": "several", "ranks": [4, 4],
                                             "machine": {"latency": 1}}]})",
        "my.json");
    EXPECT_EQ(tuning.constants(alltoall(4, 8), {"host", true}), nullptr);
}

TEST(Tuning, AFileThatCannotBeReadSaysSo) {
    for (const char* path : {"/nowhere/tuning.json", "/"})
        EXPECT_THAT(error_of([&] { Tuning::read(path); }, ErrorCode::system), HasSubstr(path));
}

TEST(Tuning, TheFingerprintIsThatOfTheText) {
    const std::string one = file(R"({"barrier": [{"from": 0, "take": "dissemination"}]})");
    const std::string other = file(R"({"barrier": [{"from": 0, "take": "recursive_doubling"}]})");
    EXPECT_EQ(Tuning::parse(one, "a").fingerprint(), Tuning::parse(one, "b").fingerprint());
    EXPECT_NE(Tuning::parse(one, "a").fingerprint(), Tuning::parse(other, "a").fingerprint());
}

class SelectByTuning : public testing::Test {
  protected:
    Tuning tuning = Tuning::parse(
        file(
            R"({"alltoall": [{"from": 0, "take": "ring"}], "reduce_scatter_block": [{"from": 0, "take": "ring"}]})",
            "[4, 4]", R"(, "machine": {"latency": 1, "per_byte": 0})"),
        "my.json");
    Guidance guidance{&tuning, inside};
};

TEST_F(SelectByTuning, TheWishComesFirstThenTheFileThenTheCost) {
    const Selection wish = select(alltoall(4, 8), RequestedAlgorithms::parse("ialltoall=bruck"), guidance);
    EXPECT_STREQ(wish.choice.algorithm->name, "bruck");
    EXPECT_EQ(wish.by, Selection::By::request);
    std::string why;
    const Selection measured = select(alltoall(4, 8), {}, guidance, &why);
    EXPECT_STREQ(measured.choice.algorithm->name, "ring");
    EXPECT_EQ(measured.by, Selection::By::tuning);
    EXPECT_EQ(why, "my.json, tables[0].choices.alltoall[0]: fastest in measurements from 0 bytes on");
    why.clear();
    const Selection modelled = select(alltoall(5, 8), {}, guidance, &why);
    EXPECT_EQ(modelled.by, Selection::By::cost);
    EXPECT_THAT(why, HasSubstr("constants: my.json, tables[0]"));
}

TEST_F(SelectByTuning, TheConstantsDecideForOtherNumbersOfRanks) {
    // With a latency of a second, and bytes for nothing, fewer steps win whatever the size.
    EXPECT_STREQ(select(alltoall(64, 1 << 20), {}, guidance).choice.algorithm->name, "flat");
    EXPECT_EQ(guidance.machine(alltoall(64, 1 << 20)).latency, 1);
}

TEST_F(SelectByTuning, WhatDeclinesIsPassedOver) {
    Problem problem = measured_problem(Collective::reduce_scatter_block, 4, 64);
    EXPECT_EQ(select(problem, {}, guidance).by, Selection::By::tuning);
    problem.ordered = true;
    std::string why;
    const Selection selection = select(problem, {}, guidance, &why);
    EXPECT_EQ(selection.by, Selection::By::cost);
    EXPECT_THAT(why, HasSubstr("ring (my.json, tables[0].choices.reduce_scatter_block[0]) declined: "));
    EXPECT_TRUE(selection.choice.algorithm->applies(problem, selection.choice.parameters));
}

// Also where shipped choices are, the variable's file counts.
TEST_F(SelectByTuning, APlannerAsksForTheEngineThatWillRunTheList) {
    const std::vector<std::unique_ptr<Link>> links = process_links(4, true);
    const auto by_host = [&] {
        return std::vector<EngineOfGroup>{{&host_engine(), [&] { return open_host_group(*links[1]); }}};
    };
    PlanOptions options;
    options.tuning = std::make_shared<const Tuning>(tuning);
    Planner planner(1, by_host(), options);
    EXPECT_STREQ(planner.plan(alltoall(4, 8)).choice.algorithm->name, "ring");
    options.several_hosts = true;
    Planner elsewhere(1, by_host(), options);
    EXPECT_STRNE(elsewhere.plan(alltoall(4, 8)).choice.algorithm->name, "ring");
}

}  // namespace
}  // namespace lapwing
