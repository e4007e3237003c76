// The text form of problems: their line and the parts of their ranks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checker_lists.hpp"
#include "checker_verdict.hpp"
#include "parse_fault.hpp"
#include "task/builder.hpp"
#include "task/sample.hpp"

namespace lapwing {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

TEST(Print, ProblemsNameWhatTheirCollectiveHas) {
    Problem problem;
    problem.ranks = 4;
    EXPECT_EQ(print(problem), "problem barrier ranks 4");
    problem.collective = Collective::gather;
    problem.root = 2;
    problem.bytes = 12;
    EXPECT_EQ(print(problem), "problem gather ranks 4 root 2 bytes 12");
    problem.in_place = true;
    EXPECT_EQ(print(problem), "problem gather ranks 4 root 2 bytes 12 in_place");
    problem = {.collective = Collective::allreduce, .ranks = 4, .bytes = 8, .type = Type::float64};
    EXPECT_EQ(print(problem), "problem allreduce ranks 4 bytes 8 op sum type float64");
    problem.ordered = true;
    EXPECT_EQ(print(problem), "problem allreduce ranks 4 bytes 8 op sum type float64 ordered");
    problem = {.collective = Collective::reduce,
               .ranks = 4,
               .bytes = 48,
               .in_place = true,
               .op = Operator::user,
               .type = Type::opaque,
               .element = 24};
    EXPECT_EQ(print(problem), "problem reduce ranks 4 root 0 bytes 48 in_place op user type opaque:24");
    // With parts, only an average.
    problem = {.collective = Collective::gatherv, .ranks = 4};
    EXPECT_EQ(print(problem), "problem gatherv ranks 4 root 0");
    problem = {.collective = Collective::allgatherv, .ranks = 4};
    EXPECT_EQ(print(problem), "problem allgatherv ranks 4");
    problem.bytes = 7;
    EXPECT_EQ(print(problem), "problem allgatherv ranks 4 bytes 7");
    EXPECT_EQ(print(Part{3, 16, 8}), "3:16+8");
    // Where the ranks stand, with hosts by their numbers; the order when it is not the usual one.
    problem = {.collective = Collective::barrier, .ranks = 4};
    problem.placement = std::make_shared<Placement>(std::vector<std::uint64_t>{9, 9, 7, 9});
    EXPECT_EQ(print(problem), "problem barrier ranks 4 hosts 0,0,1,0");
    problem.placement =
        std::make_shared<Placement>(std::vector<std::uint64_t>{9, 9, 7, 9}, std::vector{2, 0, 1, 3});
    EXPECT_EQ(print(problem), "problem barrier ranks 4 hosts 1,1,0,1 order 2,0,1,3");
    problem.placement =
        std::make_shared<Placement>(std::vector<std::uint64_t>(4), std::span<const int>{},
                                    std::vector<std::vector<std::uint64_t>>{{0, 0, 0, 7}, {2, 2, 1, 2}});
    EXPECT_EQ(print(problem), "problem barrier ranks 4 hosts 0,0,0,0 groups 0,0,0,1/0,0,1,2");
}

TEST(Text, CarriesAllOfAProblem) {
    for (const Collective collective : all_collectives()) {
        for (const int ranks : {1, 2, 5}) {
            for (const auto sample : {sample_problems, sample_problems_on_hosts}) {
                for (const Problem& problem : sample(collective, ranks, 24)) {
                    ListSet set{problem, "", {}};
                    for (int rank = 0; rank < ranks; ++rank)
                        set.lists.push_back(Builder(problem, rank).finish());
                    const std::string text = print(set);
                    EXPECT_EQ(parse(text), set) << text;
                }
            }
        }
    }
}

TEST(Text, TakesThePartsOfARankInEitherOrder) {
    const std::string text = hand_written::alltoallv_of_2;
    EXPECT_EQ(
        parse(with(text, "sends 0:1+2 1:4+0 receives 0:1+6 1:0+0", "receives 0:1+6 1:0+0 sends 0:1+2 1:4+0")),
        parse(text));
    EXPECT_EQ(parse(with(text, "parts 1 sends", "\n# of the other\n  parts   1\tsends")), parse(text));
    // What is empty may be said to be so.
    EXPECT_EQ(parse(with(hand_written::gatherv_in_place, "parts 2 receives", "parts 2 sends receives")),
              parse(hand_written::gatherv_in_place));
}

TEST(Parse, TheProblemLineIsWhole) {
    EXPECT_EQ(fault(""), "1:1: file is empty: 'problem' is missing");
    EXPECT_EQ(fault("\n# nothing\n"), "3:1: file is empty: 'problem' is missing");
    EXPECT_EQ(fault("list 0\n"), "1:1: expected 'problem', not 'list'");
    EXPECT_THAT(fault("problem"), StartsWith("1:8: collective is missing; valid: barrier, broadcast,"));
    EXPECT_EQ(fault("problem barrier\n"), "1:16: 'ranks' is missing");
    EXPECT_EQ(fault("problem broadcast ranks 2 bytes 8\n"), "1:34: 'root' is missing");
    EXPECT_EQ(fault("problem broadcast ranks 2 root 0\n"), "1:33: 'bytes' is missing");
    EXPECT_EQ(fault("problem allreduce ranks 2 bytes 8 op sum\n"), "1:41: 'type' is missing");
    EXPECT_EQ(fault("problem barrier ranks 2 ranks 2\n"), "1:25: 'ranks' is given twice");
    EXPECT_EQ(fault("problem barrier ranks 2 root 0\n"), "1:25: barrier has no 'root'");
    EXPECT_EQ(fault("problem broadcast in_place\n"), "1:19: broadcast has no 'in_place'");
    EXPECT_EQ(fault("problem barrier ranks\n"), "1:22: a number is missing for ranks");
    EXPECT_EQ(fault("problem barrier ranks 2 algorithm\n"), "1:34: an algorithm is missing");
    EXPECT_EQ(fault("problem barrier ranks 2 algorithm a+b\n"),
              "1:36: '+' is not allowed in an algorithm's name");
}

TEST(Parse, TheProblemLineIsThatOfItsCollective) {
    EXPECT_EQ(fault("problem alltoall ranks 2 bytes 8 ordered\n"), "1:34: alltoall has no 'ordered'");
    EXPECT_EQ(fault("problem gatherv ranks 2 root 0 bytes 8\n"), "1:32: gatherv has no 'bytes'");
    EXPECT_EQ(fault("problem scan ranks 2 bytes 8 ordered op sum type int32 ordered\n"),
              "1:56: 'ordered' is given twice");
    const std::string user = "problem scan ranks 1 bytes 8 op user type ";
    EXPECT_EQ(fault(user + "opaque\n"), "1:43: an opaque type needs the bytes of an element, as opaque:24");
    EXPECT_EQ(fault(user + "opaque:\n"), "1:50: a number is missing for bytes of an element");
    EXPECT_EQ(fault(user + "opaque:x\n"), "1:50: expected a number for bytes of an element, not 'x'");
    EXPECT_EQ(fault(user + "opaque:0\n"), "1:1: elements of an opaque type need a size");
    EXPECT_EQ(fault(user + "opaque:3\n"), "1:1: 8 bytes are not whole elements of opaque");
    EXPECT_EQ(fault(user + "opaqe:3\n"), "1:43: unknown type 'opaqe'; did you mean 'opaque'?");
    EXPECT_EQ(fault(user + "int32:4\n"), "1:48: the size of an element of int32 is known");
    EXPECT_THAT(fault(user + "int32\n"),
                HasSubstr("1:1: an opaque type is reduced by the caller's own function"));
}

TEST(Parse, TheProblemMakesSense) {
    EXPECT_EQ(fault("problem barrier ranks 0\n"), "1:1: a group has at least 1 rank, not 0");
    EXPECT_EQ(fault("problem broadcast ranks 2 root 2 bytes 1\n"),
              "1:1: root 2 is out of range: the group has ranks 0 to 1");
    EXPECT_EQ(fault("problem allreduce ranks 2 bytes 6 op sum type int32\n"),
              "1:1: 6 bytes are not whole elements of int32");
    EXPECT_THAT(fault("problem alltoall ranks 2000000000 bytes 4000000000\n"), HasSubstr("too many"));
}

TEST(Parse, HostsAreThoseOfTheRanks) {
    const std::string problem = "problem barrier ranks 3 ";
    const std::string lists =
        "list 0 in 0 out 0 scratch 0\nend\n"
        "list 1 in 0 out 0 scratch 0\nend\n"
        "list 2 in 0 out 0 scratch 0\nend\n";
    EXPECT_EQ(fault(problem + "hosts 5,18446744073709551615,5\n" + lists), "parsed");
    EXPECT_EQ(fault("problem barrier order 2,0,1 hosts 0,0,1 ranks 3\n" + lists), "parsed");
    EXPECT_EQ(fault(problem + "groups 0,0,1/7,6,7 hosts 0,0,0\n" + lists), "parsed");
    EXPECT_EQ(fault(problem + "groups 0,1,2\n"), "1:32: 'groups' is for ranks whose 'hosts' are given");
    EXPECT_EQ(fault(problem + "hosts 0,0,0 groups 0,1\n"),
              "1:44: the groups of 2 ranks are given, but the group has 3");
    EXPECT_EQ(fault(problem + "hosts 0,0,0 groups 0,0,1/0,1\n"),
              "1:44: the groups of 2 ranks are given, but the group has 3");
    EXPECT_EQ(fault(problem + "hosts 0,0,0 groups 0,0,1/\n"), "1:50: a number is missing for a group");
    EXPECT_EQ(fault(problem + "hosts 0,0,0 groups 0,x,1\n"), "1:46: expected a number for a group, not 'x'");
    EXPECT_EQ(fault(problem + "hosts 0,1\n"), "1:31: the hosts of 2 ranks are given, but the group has 3");
    EXPECT_EQ(fault(problem + "hosts\n"), "1:30: a number is missing for a host");
    EXPECT_EQ(fault(problem + "hosts 0,,1\n"), "1:33: a number is missing for a host");
    EXPECT_EQ(fault(problem + "hosts 0,x,1\n"), "1:33: expected a number for a host, not 'x'");
    EXPECT_EQ(fault(problem + "order 0,1,2\n"), "1:31: 'order' is for ranks whose 'hosts' are given");
    EXPECT_EQ(fault(problem + "hosts 0,0,1 order 0,1\n"),
              "1:43: the order of 2 ranks is given, and there are 3");
    EXPECT_EQ(fault(problem + "hosts 0,0,1 order 0,1,1\n"), "1:43: the order holds rank 1 twice");
    EXPECT_EQ(fault(problem + "hosts 0,0,1 order 0,1,3\n"),
              "1:43: the order holds rank 3, which is none of the 3 ranks");
}

TEST(Parse, EveryRankHasItsParts) {
    const std::string problem = "problem alltoallv ranks 2\n";
    const std::string first = "parts 0 sends 0:0+1 1:1+2 receives 0:0+1 1:1+4\n";
    const std::string second = "parts 1 sends 0:0+4 1:4+1 receives 0:0+2 1:2+1\n";
    const std::string lists =
        "list 0 in 3 out 5 scratch 0\nend\n"
        "list 1 in 5 out 3 scratch 0\nend\n";
    EXPECT_EQ(fault(problem + first + second + lists), "parsed");
    EXPECT_EQ(fault(problem), "2:1: parts of rank 0 are missing");
    EXPECT_EQ(fault(problem + first), "3:1: parts of rank 1 are missing");
    EXPECT_EQ(fault(problem + lists), "2:1: parts of rank 0 are missing");
    EXPECT_EQ(fault(problem + first + lists), "3:1: parts of rank 1 are missing");
    EXPECT_EQ(fault(problem + second), "2:7: parts of rank 0 are missing: they stand in rank order");
    EXPECT_EQ(fault(problem + first + first), "3:7: parts of rank 0 are given twice");
    EXPECT_EQ(fault(problem + first + second + second + lists), "4:1: too many parts: all ranks have theirs");
    EXPECT_EQ(fault("problem barrier ranks 1\n" + first), "2:1: barrier has no parts");
    EXPECT_EQ(fault(problem + "prats 0\n"), "2:1: expected 'parts', not 'prats'");
    EXPECT_EQ(fault(problem + "parts\n"), "2:6: a number is missing for rank");
    EXPECT_EQ(fault(problem + "parts 2\n"), "2:7: rank 2 is out of range: the group has ranks 0 to 1");
}

TEST(Parse, PartsAreBlocks) {
    const auto with_part = [](const std::string& part) {
        return fault("problem neighbor_alltoall ranks 2\nparts 0 sends " + part + "\n");
    };
    EXPECT_EQ(with_part("0:0+"), "2:19: a number is missing for length");
    EXPECT_EQ(with_part("0:+1"), "2:17: a number is missing for offset");
    EXPECT_EQ(with_part(":0+1"), "2:15: a number is missing for peer");
    EXPECT_EQ(with_part("2:0+1"), "2:15: peer 2 is out of range: the group has ranks 0 to 1");
    EXPECT_EQ(with_part("0:0-1"), "2:15: expected a block as 1:0+8, not '0:0-1'");
    EXPECT_EQ(with_part("0+0:1"), "2:15: expected a block as 1:0+8, not '0+0:1'");
    EXPECT_EQ(with_part("0:0+18446744073709551616"), "2:19: '18446744073709551616' does not fit in 64 bits");
    EXPECT_EQ(with_part("1:0+1 sends"), "2:21: 'sends' is given twice");
    EXPECT_EQ(with_part("receives receives"), "2:24: 'receives' is given twice");
    EXPECT_EQ(fault("problem neighbor_alltoall ranks 2\nparts 0 0:0+1\n"),
              "2:9: unknown word '0:0+1'; valid: sends, receives");
    EXPECT_EQ(fault("problem neighbor_alltoall ranks 2\nparts 0 send 0:0+1\n"),
              "2:9: unknown word 'send'; did you mean 'sends'?");
}

TEST(Parse, PartsMeet) {
    const std::string text = hand_written::alltoallv_of_2;
    EXPECT_EQ(fault(with(text, "receives 0:2+4 1:10+2", "receives 0:2+4 1:10+1")),
              "3:1: alltoallv: rank 1 sends 2 bytes to rank 0, which expects 1");
    EXPECT_EQ(fault(with(text, "1:4+0 receives", "receives")),
              "4:1: alltoallv: the sends of rank 1 must be with all ranks, in rank order");
    EXPECT_EQ(fault(with(text, "receives 0:2+4 1:10+2", "receives 0:7+4 1:10+2")),
              "3:1: the blocks from ranks 0 and 1 overlap in out of rank 0");
    EXPECT_EQ(fault(with(text, "sends 0:8+4", "sends 0:4611686018427387904+4")),
              "3:1: a block of rank 0 ends beyond 2^62 bytes");
    EXPECT_EQ(fault(with(hand_written::reduce_scatter_of_3, "type uint32", "type uint64")),
              "3:1: 4 bytes are not whole elements of uint64");
    EXPECT_EQ(fault(with(hand_written::neighbors_of_2, "receives 0:0+4 0:4+4", "receives 0:0+4")),
              "4:1: rank 0 sends rank 1 more blocks than rank 1 expects");
}

}  // namespace
}  // namespace lapwing
