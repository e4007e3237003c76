#include "task/parts.hpp"

#include "support/unit.hpp"
#include "task/text.hpp"
#include "task/validation.hpp"

namespace lapwing {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// "0:0+4 1:4+8", with "-" for no blocks at all.
std::string told(const std::vector<Part>& parts) {
    std::string text;
    for (const Part& part : parts) text += (text.empty() ? "" : " ") + print(part);
    return text.empty() ? "-" : text;
}
std::vector<std::string> told(const std::vector<Parts>& all) {
    std::vector<std::string> rows;
    for (const Parts& parts : all) rows.push_back(told(parts.sends) + " -> " + told(parts.receives));
    return rows;
}

std::uint64_t ten_from_and_to(int from, int to) {
    return 10 * static_cast<std::uint64_t>(from) + static_cast<std::uint64_t>(to);
}

Problem three_ranks(Collective collective, int root = 0, bool in_place = false) {
    return {.collective = collective, .ranks = 3, .root = root, .in_place = in_place};
}
Problem with_parts(Problem problem) {
    problem.parts = all_parts(problem, ten_from_and_to);
    return problem;
}

TEST(Parts, AreMadeAsTheCollectiveHasThem) {
    const auto made = [](const Problem& problem) { return told(all_parts(problem, ten_from_and_to)); };
    EXPECT_THAT(made(three_ranks(Collective::gatherv, 1)),
                ElementsAre("1:0+1 -> -", "1:0+11 -> 0:0+1 1:1+11 2:12+21", "1:0+21 -> -"));
    EXPECT_THAT(made(three_ranks(Collective::gatherv, 1, true)),
                ElementsAre("1:0+1 -> -", "- -> 0:0+1 1:1+11 2:12+21", "1:0+21 -> -"));
    EXPECT_THAT(made(three_ranks(Collective::scatterv, 2)),
                ElementsAre("- -> 2:0+20", "- -> 2:0+21", "0:0+20 1:20+21 2:41+22 -> 2:0+22"));
    EXPECT_THAT(made(three_ranks(Collective::scatterv, 2, true)),
                ElementsAre("- -> 2:0+20", "- -> 2:0+21", "0:0+20 1:20+21 2:41+22 -> -"));
    EXPECT_THAT(made(three_ranks(Collective::allgatherv)),
                ElementsAre("0:0+0 -> 0:0+0 1:0+10 2:10+20", "1:0+10 -> 0:0+0 1:0+10 2:10+20",
                            "2:0+20 -> 0:0+0 1:0+10 2:10+20"));
    EXPECT_THAT(made(three_ranks(Collective::allgatherv, 0, true))[2], "- -> 0:0+0 1:0+10 2:10+20");
    EXPECT_THAT(made(three_ranks(Collective::alltoallv)),
                ElementsAre("0:0+0 1:0+1 2:1+2 -> 0:0+0 1:0+10 2:10+20",
                            "0:0+10 1:10+11 2:21+12 -> 0:0+1 1:1+11 2:12+21",
                            "0:0+20 1:20+21 2:41+22 -> 0:0+2 1:2+12 2:14+22"));
    EXPECT_THAT(made(three_ranks(Collective::reduce_scatter)),
                ElementsAre("0:0+0 1:0+1 2:1+2 -> 0:0+0", "0:0+0 1:0+1 2:1+2 -> 1:0+1",
                            "0:0+0 1:0+1 2:1+2 -> 2:0+2"));
    EXPECT_THAT(made(three_ranks(Collective::neighbor_alltoall))[0], "1:0+1 2:1+2 -> 1:0+10 2:10+20");
}

TEST(Parts, OfAGraphStandInItsOrder) {
    const std::vector<Neighbors> graph = {{{1, 1}, {1}}, {{0, 1}, {0, 0, 1}}};
    Problem problem{.collective = Collective::neighbor_alltoall, .ranks = 2};
    EXPECT_THAT(told(parts_of_graph(problem, graph, ten_from_and_to)),
                ElementsAre("1:0+1 -> 1:0+10 1:10+10", "0:0+10 0:10+10 1:20+11 -> 0:0+1 1:1+11"));
    problem.collective = Collective::neighbor_allgather;
    EXPECT_THAT(told(parts_of_graph(problem, graph, [](int from, int) { return from + 7U; })),
                ElementsAre("1:0+7 -> 1:0+8 1:8+8", "0:0+8 0:0+8 1:0+8 -> 0:0+7 1:7+8"));
}

TEST(Parts, APeriodicLineOfFewRanksHasDoubleNeighbours) {
    EXPECT_THAT(periodic_line(4)[0].sources, ElementsAre(3, 1));
    EXPECT_THAT(periodic_line(4)[3].destinations, ElementsAre(2, 0));
    EXPECT_THAT(periodic_line(2)[0].sources, ElementsAre(1, 1));
    EXPECT_THAT(periodic_line(1)[0].destinations, ElementsAre(0, 0));
}

TEST(Parts, AnAverageIsInWholeElements) {
    Problem problem = with_parts(three_ranks(Collective::allgatherv));
    EXPECT_EQ(average_block(problem), 10U);
    problem.parts.resize(1);
    EXPECT_EQ(average_block(problem), 10U);
    problem.parts.clear();
    EXPECT_EQ(average_block(problem), 0U);
    problem = three_ranks(Collective::reduce_scatter);
    problem.type = Type::int32;
    problem.parts = all_parts(problem, [](int, int to) { return 4 * static_cast<std::uint64_t>(to); });
    EXPECT_EQ(average_block(problem), 4U);
    problem.parts = all_parts(problem, [](int, int to) { return to == 1 ? 20U : 0U; });
    EXPECT_EQ(average_block(problem), 4U);
    EXPECT_EQ(average_block(with_parts(three_ranks(Collective::alltoallv))), 0U);
}

TEST(Parts, OfAllWhereOneRankKnowsThem) {
    for (const bool in_place : {false, true}) {
        for (const Collective collective : {Collective::allgatherv, Collective::reduce_scatter}) {
            const Problem whole = with_parts(three_ranks(collective, 0, in_place));
            for (int rank = 0; rank < whole.ranks; ++rank) {
                Problem own = whole;
                own.parts = {whole.parts_of(rank)};
                // Where this rank keeps its blocks does not matter.
                for (Part& block : own.parts[0].receives) block.offset += 100;
                EXPECT_EQ(told(with_parts_of_all(own).parts), told(whole.parts));
            }
        }
    }
    Problem own = with_parts(three_ranks(Collective::alltoallv));
    own.parts.resize(1);
    EXPECT_EQ(with_parts_of_all(own), own);
}

// As sends meet receives between the same two ranks: the first the first.
TEST(Parts, Meet) {
    Problem problem{.collective = Collective::neighbor_alltoall, .ranks = 2};
    problem.parts =
        parts_of_graph(problem, std::vector<Neighbors>{{{1, 0, 1}, {0, 1}}, {{0}, {0, 0}}}, ten_from_and_to);
    EXPECT_THAT(meetings(problem, 0), ElementsAre(0, 0, 1));
    EXPECT_THAT(meetings(problem, 1), ElementsAre(1));
}

TEST(Parts, EndBehindTheLastByte) {
    EXPECT_EQ(end_of({}), 0U);
    EXPECT_EQ(end_of(std::vector<Part>{{0, 8, 4}, {1, 0, 2}, {2, 100, 0}}), 12U);
}

struct Fault {
    int rank = -1;
    std::string why = "valid";
};
Fault parts_fault(const Problem& problem) {
    try {
        validate(problem);
    } catch (const PartsError& error) {
        EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
        return {error.rank(), error.what()};
    } catch (const Error& error) {
        return {-1, error.what()};
    }
    return {};
}
#define EXPECT_FAULT(problem, at, message)    \
    EXPECT_EQ(parts_fault(problem).rank, at); \
    EXPECT_THAT(parts_fault(problem).why, HasSubstr(message))

constexpr Collective with_them[] = {Collective::gatherv,          Collective::scatterv,
                                    Collective::allgatherv,       Collective::alltoallv,
                                    Collective::reduce_scatter,   Collective::neighbor_allgather,
                                    Collective::neighbor_alltoall};

TEST(PartsValidation, TakesWhatIsMade) {
    for (const Collective collective : with_them) {
        for (const bool in_place : {false, true}) {
            if (in_place && !may_be_in_place(collective)) continue;
            for (int root = 0; root < (has_root(collective) ? 3 : 1); ++root) {
                Problem problem = three_ranks(collective, root, in_place);
                problem.parts = all_parts(problem, [](int from, int) { return 3 * (from + 1U); });
                if (collective == Collective::reduce_scatter || collective == Collective::scatterv)
                    problem.parts = all_parts(problem, [](int, int to) { return 3 * (to + 1U); });
                EXPECT_EQ(parts_fault(problem).why, "valid") << name(collective);
            }
        }
    }
}

TEST(PartsValidation, WantsThePartsOfAllRanksOrOfOne) {
    Problem problem = with_parts(three_ranks(Collective::gatherv));
    problem.parts.pop_back();
    EXPECT_FAULT(problem, -1, "gatherv needs the parts of one rank or of all 3, not of 2");
}

TEST(PartsValidation, WantsThePeersOfTheCollective) {
    Problem problem = with_parts(three_ranks(Collective::gatherv, 1));
    problem.parts[2].sends[0].peer = 0;
    EXPECT_FAULT(problem, 2, "gatherv: the sends of rank 2 must be with rank 1 only");
    problem = with_parts(three_ranks(Collective::gatherv, 1));
    problem.parts[0].receives = {{0, 0, 1}};
    EXPECT_FAULT(problem, 0, "gatherv: rank 0 must have no receives");
    problem = with_parts(three_ranks(Collective::gatherv, 1));
    problem.in_place = true;
    EXPECT_FAULT(problem, 1, "gatherv: rank 1 must have no sends");
    problem = with_parts(three_ranks(Collective::scatterv, 1));
    problem.parts[1].sends.pop_back();
    EXPECT_FAULT(problem, 1, "scatterv: the sends of rank 1 must be with all ranks, in rank order");
    problem = with_parts(three_ranks(Collective::alltoallv));
    std::swap(problem.parts[0].receives[0], problem.parts[0].receives[1]);
    EXPECT_FAULT(problem, 0, "alltoallv: the receives of rank 0 must be with all ranks, in rank order");
    problem = with_parts(three_ranks(Collective::reduce_scatter));
    problem.parts[2].receives[0].peer = 0;
    EXPECT_FAULT(problem, 2, "reduce_scatter: the receives of rank 2 must be with rank 2 only");
    problem = with_parts(three_ranks(Collective::neighbor_alltoall));
    problem.parts[2].receives[0].peer = 3;
    EXPECT_FAULT(problem, 2, "neighbour 3 of rank 2 is out of range: the group has ranks 0 to 2");
}

TEST(PartsValidation, WantsSizesThatCanBeCounted) {
    Problem problem = with_parts(three_ranks(Collective::alltoallv));
    problem.parts[1].receives[2].offset = (std::uint64_t{1} << 62) - 20;
    EXPECT_FAULT(problem, 1, "a block of rank 1 ends beyond 2^62 bytes");
    problem.parts[1].receives[2].offset = (std::uint64_t{1} << 62) - 21;
    EXPECT_EQ(parts_fault(problem).why, "valid");
    problem.parts[1].receives[2].bytes = ~std::uint64_t{0};
    EXPECT_FAULT(problem, 1, "ends beyond 2^62 bytes");
}

TEST(PartsValidation, WantsReceivesThatDoNotOverlap) {
    Problem problem = with_parts(three_ranks(Collective::alltoallv));
    problem.parts[2].receives[2].offset = 13;
    EXPECT_FAULT(problem, 2, "the blocks from ranks 1 and 2 overlap in out of rank 2");
    // Sends may.
    problem = with_parts(three_ranks(Collective::alltoallv));
    problem.parts[2].sends[2].offset = 13;
    EXPECT_EQ(parts_fault(problem).why, "valid");
}

TEST(PartsValidation, WantsPartsThatMeet) {
    Problem problem = with_parts(three_ranks(Collective::alltoallv));
    ++problem.parts[0].sends[2].bytes;
    EXPECT_FAULT(problem, 2, "alltoallv: rank 0 sends 3 bytes to rank 2, which expects 2");
    problem = with_parts(three_ranks(Collective::gatherv, 1));
    ++problem.parts[0].sends[0].bytes;
    EXPECT_FAULT(problem, 1, "gatherv: rank 0 sends 2 bytes to rank 1, which expects 1");
    problem = with_parts(three_ranks(Collective::scatterv, 1));
    ++problem.parts[0].receives[0].bytes;
    EXPECT_FAULT(problem, 0, "scatterv: rank 1 sends 10 bytes to rank 0, which expects 11");
    problem = with_parts(three_ranks(Collective::allgatherv));
    --problem.parts[2].receives[1].bytes;
    EXPECT_FAULT(problem, 2, "allgatherv: the block of rank 1 has 10 bytes at rank 0 and 9 at rank 2");
    problem = with_parts(three_ranks(Collective::allgatherv));
    --problem.parts[2].sends[0].bytes;
    EXPECT_FAULT(problem, 2, "allgatherv: rank 2 sends 19 bytes to rank 2, which expects 20");
    problem = with_parts(three_ranks(Collective::reduce_scatter));
    --problem.parts[1].sends[2].bytes;
    EXPECT_FAULT(problem, 1, "the block of rank 2 has 2 bytes at rank 0 and 1 at rank 1");
    problem = with_parts(three_ranks(Collective::reduce_scatter));
    --problem.parts[1].receives[0].bytes;
    EXPECT_FAULT(problem, 1, "rank 1 sends 1 bytes to rank 1, which expects 0");
}

TEST(PartsValidation, WantsTheVectorOfAReductionInOnePiece) {
    Problem problem = with_parts(three_ranks(Collective::reduce_scatter));
    problem.parts[1].sends[2].offset = 2;
    EXPECT_FAULT(problem, 1, "the blocks in the input of rank 1 must be adjacent");
    problem = with_parts(three_ranks(Collective::reduce_scatter));
    problem.parts[1].receives[0].offset = 1;
    EXPECT_FAULT(problem, 1, "the block of rank 1 must be at the beginning of its out");
}

TEST(PartsValidation, WantsNeighboursThatKnowOfEachOther) {
    Problem problem = with_parts(three_ranks(Collective::neighbor_alltoall));
    problem.parts[2].receives.pop_back();
    EXPECT_FAULT(problem, 2, "rank 2 sends rank 2 more blocks than rank 2 expects");
    problem = with_parts(three_ranks(Collective::neighbor_alltoall));
    problem.parts[0].sends.pop_back();
    EXPECT_FAULT(problem, 2, "rank 0 sends rank 2 fewer blocks than rank 2 expects");
    problem = with_parts(three_ranks(Collective::neighbor_alltoall));
    ++problem.parts[1].sends[0].bytes;
    EXPECT_FAULT(problem, 0, "neighbor_alltoall: rank 1 sends 11 bytes to rank 0, which expects 10");
    problem = three_ranks(Collective::neighbor_allgather);
    problem.parts = all_parts(problem, [](int, int) { return 8U; });
    problem.parts[1].sends[2].offset = 1;
    EXPECT_FAULT(problem, 1, "rank 1 sends different blocks to its neighbours");
}

}  // namespace
}  // namespace lapwing
