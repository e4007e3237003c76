// Every row of the table in src/mpi/README.md: who advances lists and messages.
#include "mpi/native/progress_mode.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace lapwing {
namespace {

constexpr ThreadLevel single = ThreadLevel::single;
constexpr ThreadLevel funneled = ThreadLevel::funneled;
constexpr ThreadLevel serialized = ThreadLevel::serialized;
constexpr ThreadLevel multiple = ThreadLevel::multiple;

TEST(LevelToAsk, IsTheProgramsWhereTheThreadNeverEnters) {
    for (const ThreadLevel wanted : {single, funneled, serialized, multiple}) {
        EXPECT_EQ(level_to_ask({.wanted = wanted, .messages = "off"}), wanted);
        EXPECT_EQ(level_to_ask({.wanted = wanted, .messages = "on", .progress_thread = "none"}), wanted);
        EXPECT_EQ(level_to_ask({.wanted = wanted, .fills_one_host = true}), wanted);
    }
}

TEST(LevelToAsk, IsSerializedForMessages) {
    EXPECT_EQ(level_to_ask({}), serialized);
    EXPECT_EQ(level_to_ask({.wanted = funneled}), serialized);
    EXPECT_EQ(level_to_ask({.wanted = multiple}), multiple);
    EXPECT_EQ(level_to_ask({.fills_one_host = true, .messages = "on"}), serialized);
}

TEST(LevelToAsk, IsMultipleForListsThatEnterAnMpiWithoutHook) {
    EXPECT_EQ(level_to_ask({.lists_enter = true, .offers_hook = false, .messages = "off"}), multiple);
    EXPECT_EQ(level_to_ask({.lists_enter = true, .messages = "off"}), single);
    EXPECT_EQ(level_to_ask({.offers_hook = false}), serialized);
}

// What lists and thread do: over other links, and over the MPI's messages.
struct Row {
    ThreadLevel level;
    Hook hook;
    bool lists_call_mpi;
    std::vector<std::string> duties, over_mpi;
};

// The duties of a thread that serves no messages.
std::vector<std::string> words(const ThreadDuties& duties) {
    std::vector<std::string> found;
    const auto add = [&found](bool is, const char* word) {
        if (is) found.emplace_back(word);
    };
    add(duties.polls_lists, "polls");
    add(duties.lists_in_polls, "in polls");
    add(duties.messages, "messages");
    add(duties.runs, "runs");
    add(duties.closes_gate, "closes");
    return found;
}

TEST(ProgressMode, WhoAdvancesLists) {
    const Row rows[] = {
        {single, Hook::none, true, {"in polls"}, {"in polls"}},
        {serialized, Hook::none, true, {"in polls"}, {"in polls"}},
        {multiple, Hook::none, true, {"in polls"}, {"in polls"}},
        {funneled, Hook::callback, true, {"in polls"}, {"in polls"}},
        {serialized, Hook::callback, true, {"in polls"}, {"polls", "in polls", "runs", "closes"}},
        {multiple, Hook::callback, true, {"in polls"}, {"polls", "in polls", "runs", "closes"}},
        {multiple,
         Hook::thread,
         true,
         {"in polls", "runs", "closes"},
         {"polls", "in polls", "runs", "closes"}},
        {funneled, Hook::polling, false, {"polls", "runs"}, {"polls", "runs"}},
        {serialized, Hook::polling, false, {"polls", "runs"}, {"polls", "runs"}},
        {multiple, Hook::polling, true, {"polls", "runs", "closes"}, {"polls", "runs", "closes"}},
    };
    for (const Row& row : rows) {
        SCOPED_TRACE(testing::Message() << "level " << int(row.level) << ", hook " << int(row.hook));
        const ProgressMode mode = progress_mode({.level = row.level, .hook = row.hook, .messages = "off"});
        EXPECT_EQ(mode.hook, row.hook);
        EXPECT_EQ(mode.lists_call_mpi, row.lists_call_mpi);
        EXPECT_EQ(mode.lists_reduce_by_mpi(), row.hook != Hook::polling);
        EXPECT_EQ(words(mode.duties(false)), row.duties);
        EXPECT_EQ(words(mode.duties(true)), row.over_mpi);
        // Another rank's lists must not call the MPI, so this rank's must not either.
        const ProgressMode together =
            progress_mode({.level = row.level, .hook = row.hook, .others_stay_out = true, .messages = "off"});
        EXPECT_FALSE(together.lists_call_mpi);
        EXPECT_FALSE(together.duties(true).lists_in_polls);
        EXPECT_FALSE(together.duties(true).closes_gate);
        EXPECT_EQ(together.duties(false).runs, mode.duties(false).runs);
    }
}

TEST(ProgressMode, MessagesNeedTheGateWhereListsDoNot) {
    const ThreadDuties duties = progress_mode({.level = serialized, .hook = Hook::polling}).duties(false);
    EXPECT_EQ(words(duties), (std::vector<std::string>{"polls", "messages", "runs", "closes"}));
    EXPECT_EQ(words(progress_mode({.level = serialized}).duties(false)),
              (std::vector<std::string>{"in polls", "messages", "runs", "closes"}));
}

TEST(ProgressMode, WhenTheThreadEntersTheMpi) {
    struct Case {
        ProgressFacts facts;
        std::string why_never;
    };
    const Case cases[] = {
        {{.level = single}, "the MPI does not provide MPI_THREAD_SERIALIZED"},
        {{.level = funneled}, "the MPI does not provide MPI_THREAD_SERIALIZED"},
        {{.level = serialized}, ""},
        {{.level = serialized, .gate_is_complete = false},
         "this MPI is newer than the versions that Lapwing supports"},
        {{.level = serialized, .has_membarrier = false}, "this kernel refuses membarrier(2)"},
        {{.level = multiple}, ""},
        {{.level = multiple, .gate_is_complete = false},
         "this MPI is newer than the versions that Lapwing supports"},
        {{.level = multiple, .has_membarrier = false}, "this kernel refuses membarrier(2)"},
    };
    for (const Case& one : cases) {
        const ProgressMode mode = progress_mode(one.facts);
        EXPECT_EQ(mode.threads, one.facts.level == multiple);
        EXPECT_EQ(mode.why_never, one.why_never);
        EXPECT_EQ(mode.why_no_messages, one.why_never);
        EXPECT_EQ(mode.duties(false).messages, one.why_never.empty());
    }
}

// The first reason of several is the one that the report names.
TEST(ProgressMode, WhyMessagesDoNotMove) {
    ProgressFacts facts = {.level = serialized, .own_thread = "MPIR_CVAR_ASYNC_PROGRESS=1"};
    const auto why = [&facts] { return progress_mode(facts).why_no_messages; };
    EXPECT_EQ(why(), "the MPI has a progress thread of its own (MPIR_CVAR_ASYNC_PROGRESS=1)");
    facts.level = single;
    EXPECT_EQ(why(), "the MPI does not provide MPI_THREAD_SERIALIZED");
    facts.fills_one_host = true;
    EXPECT_EQ(why(), "all ranks are on one host without spare CPUs");
    facts.messages = "on";
    EXPECT_EQ(why(), "the MPI does not provide MPI_THREAD_SERIALIZED");
    facts.progress_thread = "none";
    EXPECT_EQ(why(), "LAPWING_PROGRESS_THREAD=none");
    facts.messages = "off";
    EXPECT_EQ(why(), "LAPWING_MESSAGES=off");
    facts.fault_tolerant = "the MPI runs fault-tolerant";
    EXPECT_EQ(why(), "the MPI runs fault-tolerant");
}

}  // namespace
}  // namespace lapwing
