// Recorded programs on other numbers of ranks: how quantities grow, rules of peers and communicators, whole
// programs.
#include "simulate/recorded/sizes.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "base/error.hpp"
#include "recordings.hpp"
#include "simulate/recorded/layout.hpp"

namespace lapwing::simulate {
namespace {

using recording::Call;
using recording::Recording;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using Kind = Action::Kind;

using Values = std::vector<std::pair<double, double>>;

TEST(GrowthOfAQuantity, HasTheExponentThatPredictsBest) {
    EXPECT_EQ(fit_growth(Values{{2, 100}, {4, 100}}).exponent, 0);
    EXPECT_EQ(fit_growth(Values{{2, 100}, {4, 52}}).exponent, -1);
    EXPECT_EQ(fit_growth(Values{{2, 100}, {4, 71}, {8, 49}}).exponent, -0.5);
    EXPECT_EQ(fit_growth(Values{{2, 10}, {8, 40}}).exponent, 1);
    EXPECT_EQ(fit_growth(Values{{8, 1}, {64, 4}}).exponent, 2.0 / 3);
    EXPECT_EQ(fit_growth(Values{{2, 0}, {4, 3}}).exponent, 0);
    // Of recordings that are near each other, more exponents fit.
    const Growth near = fit_growth(Values{{2, 100}, {3, 83}});
    EXPECT_LT(near.min_exponent, near.max_exponent);
    EXPECT_LT(near.min_factor(3, 64), near.factor(3, 64));
    const Growth far = fit_growth(Values{{2, 100}, {64, 100 / std::sqrt(32.0)}});
    EXPECT_EQ(far.min_exponent, far.max_exponent);
    EXPECT_NEAR(far.factor(64, 256), 0.5, 1e-12);
}

TEST(RulesOfRanks, AreFoundInFewOfThemAndHoldForMany) {
    struct Case {
        const char* what;
        std::function<int(int rank, int ranks)> peer;
        int ranks;
    };
    const Case cases[] = {
        {"ring", [](int rank, int ranks) { return (rank + 1) % ranks; }, 100},
        {"backwards", [](int rank, int ranks) { return (rank + ranks - 1) % ranks; }, 100},
        {"pairs", [](int rank, int) { return rank ^ 1; }, 100},
        {"root", [](int, int) { return 0; }, 100},
        {"last", [](int, int ranks) { return ranks - 1; }, 100},
        {"mirror", [](int rank, int ranks) { return ranks - 1 - rank; }, 100},
        {"halves", [](int rank, int ranks) { return (rank + ranks / 2) % ranks; }, 100},
        // Down a column of a grid: of 2 x 2, 4 x 2, 4 x 4 and 16 x 8 ranks.
        {"column",
         [](int rank, int ranks) {
             const int columns = ranks == 4 ? 2 : ranks == 8 ? 2 : ranks == 16 ? 4 : 8;
             return (rank + columns) % ranks;
         },
         128},
    };
    for (const Case& one : cases) {
        std::vector<Pairing> pairings;
        for (const int ranks : {4, 8, 16}) {
            for (int rank = 0; rank < ranks; ++rank) pairings.push_back({rank, one.peer(rank, ranks), ranks});
        }
        const auto rule = find_peer_rule(pairings);
        ASSERT_TRUE(rule) << one.what;
        for (int rank = 0; rank < one.ranks; ++rank) {
            EXPECT_EQ(rule->peer(rank, one.ranks), one.peer(rank, one.ranks)) << one.what << " " << rank;
        }
        pairings.back().peer = (pairings.back().peer + 5) % 16;
        EXPECT_FALSE(find_peer_rule(pairings)) << one.what;
    }
}

TEST(RulesOfRanks, GridsAreAsNearToSquaresAndCubesAsTheyGet) {
    EXPECT_EQ((GridRule{2, false}.sides(12)), (std::array{4, 3, 1}));
    EXPECT_EQ((GridRule{2, true}.sides(12)), (std::array{3, 4, 1}));
    EXPECT_EQ((GridRule{3, false}.sides(16)), (std::array{4, 2, 2}));
    EXPECT_EQ((GridRule{3, false}.sides(65536)), (std::array{64, 32, 32}));
    EXPECT_EQ((GridRule{3, false}.sides(7)), (std::array{7, 1, 1}));
}

TEST(RulesOfRanks, CommunicatorsAreRowsColumnsAndHalves) {
    struct Case {
        std::function<std::vector<std::int32_t>(int rank, int ranks)> members;
        std::vector<std::int32_t> of_rank_17_of_64;
    };
    const auto row = [](int rank, int ranks) {
        const int columns = ranks == 4 ? 2 : 4;
        std::vector<std::int32_t> found;
        for (int i = 0; i < columns; ++i) found.push_back(rank / columns * columns + i);
        return found;
    };
    const auto half = [](int rank, int ranks) {
        std::vector<std::int32_t> found;
        for (int i = 0; i < ranks; ++i) {
            if ((i < ranks / 2) == (rank < ranks / 2)) found.push_back(i);
        }
        return found;
    };
    for (const Case& one : {Case{row, {16, 17, 18, 19, 20, 21, 22, 23}}, Case{half, half(17, 64)}}) {
        std::vector<std::vector<std::int32_t>> lists;
        std::vector<std::array<int, 2>> places;
        for (const int ranks : {4, 16}) {
            for (int rank = 0; rank < ranks; ++rank) {
                lists.push_back(one.members(rank, ranks));
                places.push_back({rank, ranks});
            }
        }
        std::vector<Membership> memberships;
        for (std::size_t i = 0; i < lists.size(); ++i)
            memberships.push_back({places[i][0], &lists[i], places[i][1]});
        const auto rule = find_group_rule(memberships);
        ASSERT_TRUE(rule);
        EXPECT_EQ(rule->members(17, 64), one.of_rank_17_of_64);
        EXPECT_EQ(rule->first(17, 64), one.of_rank_17_of_64.front());
        std::swap(lists.back().front(), lists.back().back());
        EXPECT_FALSE(find_group_rule(memberships));
    }
}

using MakeRank = std::function<void(RecordedRank& rank, int number, int ranks)>;
Replay recorded(int ranks, const MakeRank& make) {
    Recording recording;
    recording.ranks = ranks;
    for (int rank = 0; rank < ranks; ++rank) {
        RecordedRank one(rank, ranks);
        make(one, rank, ranks);
        recording.each.push_back(one.finish());
    }
    return make_replay(recording, Computation::processor, false);
}
Extrapolation extrapolated(const MakeRank& make, int ranks, std::vector<int> from = {2, 4}) {
    std::vector<Replay> replays;
    for (const int one : from) replays.push_back(recorded(one, make));
    return extrapolate(replays, ranks);
}
Call message(int peer, std::uint64_t bytes, bool receives, std::uint32_t request) {
    Call call;
    (receives ? call.source : call.peer) = peer;
    (receives ? call.received : call.sent) = bytes;
    call.tag = call.receive_tag = 1;
    call.requests = {request};
    return call;
}
Call both() {
    Call call;
    call.requests = {0, 1};
    call.completed = 2;
    return call;
}

// A ring on a whole of fixed size: less to compute and to send for each of more ranks.
void strong_ring(RecordedRank& one, int rank, int ranks) {
    const auto share = static_cast<std::uint64_t>(ranks);
    one.loop(10)
        .call("MPI_Irecv", std::vector<std::uint64_t>(10, 0), message((rank + ranks - 1) % ranks, 0, true, 0))
        .call("MPI_Isend", std::vector<std::uint64_t>(10, 64000 / share),
              message((rank + 1) % ranks, 4096 / share, false, 1))
        .call("MPI_Waitall", std::vector<std::uint64_t>(10, 8000), both())
        .end();
}

TEST(OtherSizes, OfARing) {
    const Extrapolation found = extrapolated(strong_ring, 16);
    const Replay expected = recorded(16, strong_ring);
    EXPECT_THAT(found.left_out, IsEmpty());
    ASSERT_THAT(found.expected.scripts.of_ranks, SizeIs(16));
    for (int rank = 0; rank < 16; ++rank) {
        const auto& one = found.expected.scripts.of_ranks[static_cast<std::size_t>(rank)];
        const auto& other = expected.scripts.of_ranks[static_cast<std::size_t>(rank)];
        ASSERT_EQ(one.size(), other.size());
        for (std::size_t i = 0; i < one.size(); ++i) {
            EXPECT_EQ(one[i].kind, other[i].kind);
            EXPECT_EQ(one[i].work, other[i].work);
            EXPECT_EQ(one[i].times, other[i].times);
            EXPECT_EQ(one[i].peer, other[i].peer) << rank << " " << i;
            if (one[i].kind == Kind::send) {
                EXPECT_EQ(found.expected.operations[static_cast<std::size_t>(one[i].operation)].bytes, 256);
            }
        }
    }
}

TEST(OtherSizes, OfALineWhoseEndsCallLess) {
    const MakeRank line = [](RecordedRank& one, int rank, int ranks) {
        if (rank > 0) one.call("MPI_Recv", {0}, message(rank - 1, 0, true, 0));
        if (rank + 1 < ranks) one.call("MPI_Send", {500}, message(rank + 1, 100, false, 0));
    };
    const Extrapolation found = extrapolated(line, 10, {3, 4});
    EXPECT_THAT(found.left_out, IsEmpty());
    const Replay expected = recorded(10, line);
    for (std::size_t rank = 0; rank < 10; ++rank) {
        EXPECT_EQ(found.expected.scripts.of_ranks[rank].size(), expected.scripts.of_ranks[rank].size())
            << rank;
    }
    // Two ranks alone say nothing about those between them.
    EXPECT_THROW(extrapolated(line, 10, {2, 1}), Error);
}

TEST(OtherSizes, OfRowsOfAGrid) {
    const MakeRank rows = [](RecordedRank& one, int rank, int ranks) {
        const int columns = ranks == 64 ? 8 : ranks == 16 ? 4 : 2;
        std::vector<int> row;
        for (int i = 0; i < columns; ++i) row.push_back(rank / columns * columns + i);
        Call call;
        call.communicator = one.communicator(row);
        call.sent = 1000;
        one.call("MPI_Alltoall", {0}, call);
        Call sum;
        sum.sent = sum.received = 8;
        one.call("MPI_Allreduce", {0}, sum);
    };
    const Extrapolation found = extrapolated(rows, 64, {4, 16});
    std::vector<std::pair<int, int>> sizes;
    for (const Action& action : found.expected.scripts.of_ranks[17]) {
        if (action.kind != Kind::start) continue;
        const ReplayOperation& one = found.expected.operations[static_cast<std::size_t>(action.operation)];
        sizes.emplace_back(one.problem.ranks, static_cast<int>(one.problem.bytes));
    }
    EXPECT_THAT(sizes, ElementsAre(std::pair(8, 1000), std::pair(64, 8)));
    EXPECT_THAT(found.expected.scripts.communicators, SizeIs(8 + 1));
}

// The faces of a cube of 64 x 64 x 64 numbers, of which a grid cuts parts.
TEST(OtherSizes, OfAHaloInAGrid) {
    const GridRule grid{3, false};
    const auto neighbors = [&](int rank, int ranks) {
        std::vector<std::pair<int, std::uint64_t>> found;
        const std::array<int, 3> sides = grid.sides(ranks);
        for (std::size_t d = 0; d < 3; ++d) {
            for (const int step : {-1, 1}) {
                std::array<int, 3> place = grid.place(rank, ranks);
                place[d] += step;
                const std::uint64_t face =
                    64 * 64 * 8 * static_cast<std::uint64_t>(sides[d]) / static_cast<std::uint64_t>(ranks);
                if (place[d] >= 0 && place[d] < sides[d]) found.emplace_back(grid.rank(place, ranks), face);
            }
        }
        return found;
    };
    // On few ranks a grid of three dimensions looks like one of two, unless the recording has places for
    // neighbours that are not there.
    for (const bool places : {false, true}) {
        std::vector<Replay> replays;
        for (const int ranks : places ? std::vector{2, 4} : std::vector{2, 4, 8}) {
            Recording recording;
            recording.ranks = ranks;
            for (int rank = 0; rank < ranks; ++rank) {
                RecordedRank one(rank, ranks);
                std::vector<int> peers;
                std::vector<std::uint64_t> bytes;
                for (const auto& [peer, face] : neighbors(rank, ranks)) {
                    peers.push_back(peer);
                    bytes.push_back(face);
                }
                if (places) peers.resize(6, -1);
                Call call;
                call.sent_counts = one.counts(bytes);
                recording::Rank made = one.call("MPI_Neighbor_alltoallv", {0}, call).finish();
                made.communicators[1].sources = made.communicators[1].destinations = peers;
                recording.each.push_back(std::move(made));
            }
            replays.push_back(make_replay(recording, Computation::processor, false));
        }
        const Extrapolation found = extrapolate(replays, 64);
        EXPECT_THAT(found.left_out, IsEmpty());
        const Problem& problem = found.expected.operations.front().problem;
        for (int rank = 0; rank < 64; ++rank) {
            std::vector<std::pair<int, std::uint64_t>> sends;
            for (const Part& part : problem.parts_of(rank).sends) sends.emplace_back(part.peer, part.bytes);
            EXPECT_EQ(sends, neighbors(rank, 64)) << rank;
        }
    }
}

TEST(OtherSizes, WhatFollowsNoRuleIsNamed) {
    const MakeRank odd = [](RecordedRank& one, int rank, int ranks) {
        const int peers[] = {1, 2, 3, 0};
        one.call("MPI_Barrier", {100});
        one.call("MPI_Irecv", {0}, message(ranks == 4 ? peers[rank] : rank, 0, true, 0), 5);
        one.call("MPI_Isend", {0}, message(ranks == 4 ? peers[rank] : rank, 8, false, 1), 5);
        one.call("MPI_Waitall", {0}, both(), 90);
    };
    const Extrapolation found = extrapolated(odd, 8);
    ASSERT_THAT(found.left_out, SizeIs(2));
    EXPECT_EQ(found.expected.sites[static_cast<std::size_t>(found.left_out[0].site)].of.function,
              "MPI_Irecv");
    EXPECT_NEAR(found.left_out[0].share, 5.0 / 200, 1e-9);
    for (const Action& action : found.expected.scripts.of_ranks[3]) EXPECT_NE(action.kind, Kind::send);
    // Without its start, a wait is over at once; the barrier stays.
    EXPECT_EQ(found.expected.operations.size(), 1);
}

TEST(OtherSizes, DifferentCallsAreRefused) {
    const MakeRank more = [](RecordedRank& one, int, int ranks) {
        one.call("MPI_Barrier", {0});
        if (ranks == 4) one.call("MPI_Bcast", {0});
    };
    try {
        extrapolated(more, 8);
        ADD_FAILURE();
    } catch (const Error& error) {
        EXPECT_THAT(error.what(), AllOf(HasSubstr("MPI_Bcast"), HasSubstr("MPI_Finalize")));
    }
    EXPECT_THROW(extrapolated(strong_ring, 8, {4}), Error);
    EXPECT_THROW(extrapolated(strong_ring, 8, {4, 4}), Error);
}

}  // namespace
}  // namespace lapwing::simulate
