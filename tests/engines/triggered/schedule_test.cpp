// What lists become on the triggered engine, compared with schedules and works made by hand.
#include <gtest/gtest.h>

#include "base/error.hpp"
#include "collectives/catalogue.hpp"
#include "engines/triggered/schedule.hpp"
#include "engines/triggered/works.hpp"
#include "task/text.hpp"

namespace lapwing::triggered {
namespace {

TEST(TriggeredSchedule, RecursiveDoubling) {
    const Problem barrier{.collective = Collective::barrier, .ranks = 8};
    const Schedule made =
        schedule(build(barrier, 0, parse_choice(Collective::barrier, "recursive_doubling")));
    ASSERT_EQ(made.writes.size(), 3U);
    EXPECT_EQ(made.levels, (std::vector<Level>{{}, {{{1, 1}}}, {{{2, 1}}}}));
    EXPECT_EQ(made.moves.size(), 0U);
    const auto ready = works(made, [](std::int32_t) { return false; });
    const Trigger at_once;
    const Trigger by_1{{Counter::Kind::landed, 1}, 1};
    const Trigger by_2{{Counter::Kind::landed, 2}, 1};
    const Trigger by_gate{{Counter::Kind::gate, 0}, 2};
    EXPECT_EQ(ready, (std::vector<Work>{{Work::Kind::write, at_once, 0, -1},
                                        {Work::Kind::write, by_1, 1, -1},
                                        {Work::Kind::add, by_2, 0, 0},
                                        {Work::Kind::add, by_1, 0, 0},
                                        {Work::Kind::write, by_gate, 2, -1}}));
    // Three writes; gates of two and of three inputs, since nobody is known to be ready.
    EXPECT_EQ(needs_of(made).entries, 3U + 2U * (2U + 3U));
    EXPECT_EQ(needs_of(made).counters, 2U + 1U);
}

TEST(TriggeredSchedule, AReductionIsAStage) {
    const Problem sum{.collective = Collective::allreduce, .ranks = 4, .bytes = 8, .type = Type::int64};
    const Schedule made = schedule(build(sum, 0, parse_choice(Collective::allreduce, "recursive_doubling")));
    const auto of_slot = [](std::int32_t peer) { return Piece{{Location::Memory::slot, peer, 0}, 8}; };
    const auto of_result = [](std::uint64_t at) { return Piece{{Location::Memory::reduced, -1, at}, 8}; };
    ASSERT_EQ(made.stages.size(), 2U);
    EXPECT_EQ(made.stages[0].arrivals, (std::vector<Arrival>{{1, 1}}));
    EXPECT_EQ(made.stages[1].arrivals, (std::vector<Arrival>{{2, 1}}));
    EXPECT_EQ(made.stages[1].reductions.front().source, std::vector<Piece>{of_result(0)});
    EXPECT_EQ(made.stages[1].reductions.front().target, std::vector<Piece>{of_slot(2)});
    // The second write goes when the first stage is over, and is not overwritten by the second one.
    EXPECT_EQ(made.levels, (std::vector<Level>{{}, {{}, 1}}));
    EXPECT_EQ(made.writes[1].source, of_result(0).place);
    EXPECT_EQ(made.moves, (std::vector<Move>{{of_result(16).place, 8, 0}}));
    const auto ready = works(made, [](std::int32_t) { return false; });
    EXPECT_EQ(ready, (std::vector<Work>{{Work::Kind::write, {}, 0, -1},
                                        {Work::Kind::write, {{Counter::Kind::stage}, 1}, 1, -1}}));
    EXPECT_EQ(needs_of(made).counters, 1U + 1U + 1U);
}

TEST(TriggeredSchedule, WhatIsPassedOnIsSentFromWhereItHasLanded) {
    const auto task = [](Kind kind, int peer, std::uint64_t count, Span target, Span source) {
        Task made;
        made.kind = kind;
        made.peer = peer;
        made.count = count;
        made.target = target;
        made.source = source;
        return made;
    };
    List list;
    list.rank = 1;
    list.ranks = 3;
    list.out_bytes = list.scratch_bytes = 8;
    list.tasks = {task(Kind::recv, 0, 0, {Space::out, 0, 4}, {}),
                  task(Kind::recv, 2, 0, {Space::out, 4, 4}, {}),
                  task(Kind::wait, 0, 1, {}, {}),
                  task(Kind::wait, 2, 1, {}, {}),
                  task(Kind::copy, -1, 0, {Space::scratch, 0, 8}, {Space::out, 0, 8}),
                  task(Kind::send, 2, 0, {}, {Space::scratch, 2, 6})};
    const Schedule made = schedule(list);
    ASSERT_EQ(made.writes.size(), 2U);
    EXPECT_EQ(made.writes[0], (Write{2, {Location::Memory::slot, 0, 2}, 2, 0, false, 1}));
    EXPECT_EQ(made.writes[1], (Write{2, {Location::Memory::slot, 2, 0}, 4, 2, true, 1, 0, 2}));
    EXPECT_EQ(made.moves, (std::vector<Move>{{{Location::Memory::slot, 0, 0}, 4, 0},
                                             {{Location::Memory::slot, 2, 0}, 4, 4}}));
    list.tasks[2].count = 2;
    EXPECT_THROW(schedule(list), Error);
}

}  // namespace
}  // namespace lapwing::triggered
