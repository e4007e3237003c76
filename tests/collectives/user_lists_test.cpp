#include "collectives/user_lists.hpp"

#include "collectives/catalogue.hpp"
#include "problems.hpp"
#include "support/unit.hpp"
#include "task/checker_verdict.hpp"
#include "task/scaling.hpp"

namespace lapwing {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

// Each rank sends the other its vector; in two chunks, of which each rank reduces one.
constexpr const char* allreduce_of_2 =
    "problem allreduce ranks 2 chunks 2 min_bytes 8 max_bytes 4096\n"
    "list 0 in 2 out 2 scratch 1\n"
    "  recv 1 scratch[0+1]\n"
    "  recv 1 out[1+1]\n"
    "  send 1 in[1+1]\n"
    "  wait 1 1\n"
    "  copy out[0+1] in[0+1]\n"
    "  reduce out[0+1] scratch[0+1]\n"
    "  send 1 out[0+1]\n"
    "  wait 1 1\n"
    "end\n"
    "list 1 in 2 out 2 scratch 2\n"
    "  recv 0 scratch[1+1]\n"
    "  recv 0 out[0+1]\n"
    "  send 0 in[0+1]\n"
    "  wait 0 1\n"
    "  copy out[1+1] in[1+1]\n"
    "  reduce out[1+1] scratch[1+1]\n"
    "  send 0 out[1+1]\n"
    "  wait 0 1\n"
    "end\n";

Problem sum(int ranks, std::uint64_t elements, Type type = Type::float64) {
    Problem problem{.collective = Collective::allreduce, .ranks = ranks};
    problem.type = type;
    problem.bytes = elements * problem.element_bytes();
    return problem;
}

std::vector<Violation> proof(const UserLists& lists, const Problem& problem) {
    std::vector<List> all;
    for (int rank = 0; rank < problem.ranks; ++rank) all.push_back(lists.build(problem, rank));
    return check(problem, all);
}

std::string why_not(const UserLists& lists, const Problem& problem) {
    const Verdict verdict = lists.applies(problem);
    return verdict ? "applies" : verdict.reason();
}

TEST(UserLists, ServeEverySizeOperatorAndTypeOfTheirRanks) {
    const UserLists lists("a.lists", 1, parse_sets(allreduce_of_2));
    EXPECT_STREQ(lists.algorithm().name, "file:a.lists");
    for (const std::uint64_t elements : {1, 2, 3, 100, 511, 512}) {
        for (const bool in_place : {false, true}) {
            Problem problem = sum(2, elements);
            problem.in_place = in_place;
            ASSERT_TRUE(lists.applies(problem));
            EXPECT_TRUE(proof(lists, problem).empty()) << elements << in_place;
        }
    }
    Problem other = sum(2, 5, Type::int16);
    other.op = Operator::bit_xor;
    EXPECT_TRUE(proof(lists, other).empty());
    other = {.collective = Collective::allreduce, .ranks = 2, .bytes = 5 * 12, .op = Operator::user};
    other.type = Type::opaque;
    other.element = 12;
    EXPECT_TRUE(proof(lists, other).empty());
    // 5 elements of 12 bytes: chunks of 2 and 3.
    EXPECT_EQ(lists.build(other, 0).tasks.front().target, (Span{Space::scratch, 0, 24}));
    EXPECT_EQ(lists.build(other, 1).tasks.front().target, (Span{Space::scratch, 24, 36}));
}

TEST(UserLists, DeclineWhatTheyAreNotFor) {
    const UserLists lists("a.lists", 1, parse_sets(allreduce_of_2));
    EXPECT_EQ(why_not(lists, sum(3, 8)), "the file has no lists for this number of ranks");
    EXPECT_EQ(why_not(lists, sum(2, 1, Type::int32)), "its lists are for longer blocks");
    EXPECT_EQ(why_not(lists, sum(2, 513)), "its lists are for shorter blocks");
    Problem ordered = sum(2, 8);
    ordered.ordered = true;
    EXPECT_EQ(why_not(lists, ordered), "its lists do not combine in rank order");
    EXPECT_EQ(lists.refusal(sum(3, 8)), "");
    EXPECT_EQ(lists.refusal(ordered), "");
}

TEST(UserLists, OfSeveralSetsTheFirstThatFitsIsTaken) {
    std::string text = allreduce_of_2;
    text += with(with(with(allreduce_of_2, "min_bytes 8 max_bytes 4096", "min_bytes 4097"),
                      "wait 1 1\n  copy", "wait 1 1\n  copy scratch[1+1] in[1+1]\n  copy"),
                 "scratch 1", "scratch 2");
    const UserLists lists("a.lists", 1, parse_sets(text));
    EXPECT_EQ(lists.build(sum(2, 512), 0).tasks.size(), 8U);
    EXPECT_EQ(lists.build(sum(2, 513), 0).tasks.size(), 9U);
    EXPECT_EQ(why_not(lists, sum(2, 1, Type::int8)), "its lists are for longer blocks");
}

TEST(UserLists, WithoutChunksServeOneProblem) {
    const std::string text =
        "problem broadcast ranks 2 root 1 bytes 8\n"
        "list 0 in 0 out 8 scratch 0\n"
        "  recv 1 out[0+8]\n"
        "  wait 1 1\n"
        "end\n"
        "list 1 in 8 out 0 scratch 0\n"
        "  send 0 in[0+8]\n"
        "end\n";
    const UserLists lists("a.lists", 1, parse_sets(text));
    Problem problem{.collective = Collective::broadcast, .ranks = 2, .root = 1, .bytes = 8};
    EXPECT_TRUE(lists.applies(problem));
    EXPECT_EQ(lists.build(problem, 1), parse(text).lists[1]);
    problem.bytes = 16;
    EXPECT_EQ(why_not(lists, problem), "its lists are for blocks of a different length");
    problem.root = 0;
    EXPECT_EQ(why_not(lists, problem), "the file has no lists for this root");
}

TEST(UserLists, AWrongListIsRefusedWithRankLineAndRule) {
    const struct {
        const char* from;
        const char* to;
        const char* what;
    } cases[] = {
        {"  reduce out[0+1] scratch[0+1]\n", "", "a.lists:7: provenance: rank 0"},
        {"  wait 1 1\n  copy", "  copy", "a.lists:4: matching: rank 0, task 1"},
        {"  send 1 in[1+1]\n", "", "a.lists:"},
        {"copy out[0+1] in[0+1]", "copy out[0+1] in[1+1]", "provenance: rank"},
        {"reduce out[0+1] scratch[0+1]", "reduce out[0+1] in[0+1]", "a.lists:"},
    };
    for (const auto& [from, to, what] : cases) {
        const UserLists lists("a.lists", 1, parse_sets(with(allreduce_of_2, from, to)));
        EXPECT_THAT(why_not(lists, sum(2, 8)), HasSubstr(what));
        EXPECT_EQ(lists.refusal(sum(2, 8)), why_not(lists, sum(2, 8)));
        // Of no problem that they are not for.
        EXPECT_EQ(lists.refusal(sum(3, 8)), "");
    }
}

// What is proven of chunks of the catalogue's lists holds for each size that the file takes.
TEST(UserLists, TheProofOfTheChunksHoldsForEverySize) {
    int aligned = 0;
    int divided = 0;
    for (const Algorithm* algorithm : catalogue()) {
        if (algorithm->collective == Collective::barrier || has_parts(algorithm->collective)) continue;
        for (const int ranks : {2, 3, 5, 8}) {
            const std::uint64_t chunks = static_cast<std::uint64_t>(2 * ranks);
            Problem unit{.collective = algorithm->collective, .ranks = ranks, .bytes = chunks};
            const Choice choice{algorithm, default_parameters(*algorithm)};
            if (!choice.applies(unit)) continue;
            ParsedSet parsed{build_all(unit, choice), std::vector<int>(static_cast<std::size_t>(ranks)), {}};
            parsed.set.chunks = ChunkSizes{};
            for (const List& list : parsed.set.lists) parsed.task_lines.emplace_back(list.tasks.size());
            const bool fits_all = first_unaligned(parsed.set).empty();
            const UserLists lists("unit", 1, {parsed});
            for (const std::uint64_t elements : {std::uint64_t{1}, chunks, chunks + 3, 7 * chunks, 1001UL}) {
                Problem problem = unit;
                if (is_reduction(problem.collective)) problem.type = Type::int32;
                problem.bytes = elements * problem.element_bytes();
                for (const bool in_place : {false, true}) {
                    problem.in_place = in_place && may_be_in_place(problem.collective);
                    const bool divides = elements % chunks == 0;
                    ASSERT_EQ(static_cast<bool>(lists.applies(problem)), fits_all || divides)
                        << print(problem) << " " << algorithm->name << ": " << why_not(lists, problem);
                    if (!fits_all && !divides) continue;
                    ++(divides ? divided : aligned);
                    const auto violations = proof(lists, problem);
                    EXPECT_TRUE(violations.empty())
                        << print(problem) << " " << algorithm->name << ": " << violations.front().why;
                }
            }
        }
    }
    EXPECT_GT(aligned, 100);
    EXPECT_GT(divided, 100);
}

}  // namespace
}  // namespace lapwing
