#include "task/text.hpp"

#include "checker_lists.hpp"
#include "checker_verdict.hpp"
#include "support/unit.hpp"
#include "task/builder.hpp"
#include "task/sample.hpp"

namespace lapwing {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

// What the parser says about a text that it refuses.
std::string fault(std::string_view text) {
    try {
        parse(text);
    } catch (const ParseError& error) {
        EXPECT_EQ(error.code(), ErrorCode::parse);
        EXPECT_THAT(error.what(), testing::StartsWith(std::to_string(error.line()) + ":" +
                                                      std::to_string(error.column()) + ": "));
        return error.what();
    }
    return "parsed";
}

constexpr const char* broadcast =
    "problem broadcast ranks 2 root 0 bytes 8 algorithm binomial\n"
    "list 0 in 8 out 0 scratch 0\n"
    "  send 1 in[0+8]\n"
    "end\n"
    "list 1 in 0 out 8 scratch 0\n"
    "  recv 0 out[0+8]\n"
    "  wait 0 1\n"
    "end\n";

// A broadcast to one other rank, whose list is `tasks`.
std::string with_tasks(const std::string& tasks) {
    return "problem broadcast ranks 2 root 0 bytes 8\n"
           "list 0 in 8 out 0 scratch 0\n"
           "end\n"
           "list 1 in 0 out 8 scratch 16\n" +
           tasks + "end\n";
}

TEST(Text, IsPrintedAsItWasParsed) {
    EXPECT_EQ(print(parse(broadcast)), broadcast);
    for (const char* text : hand_written::all) EXPECT_EQ(print(parse(text)), text + 1);
    for (const char* placement :
         {"hosts 0,0,1,0", "hosts 1,1,0,1 order 2,0,1,3", "hosts 0,0,0,0 groups 0,0,0,1/0,0,1,2"}) {
        std::string text = fmt::format("problem barrier ranks 4 {}\n", placement);
        for (int rank = 0; rank < 4; ++rank) text += fmt::format("list {} in 0 out 0 scratch 0\nend\n", rank);
        EXPECT_EQ(print(parse(text)), text);
    }
}

TEST(Text, TakesCommentsBlanksAndForeignLineEnds) {
    const std::string text =
        "# a broadcast\r\n"
        "\n"
        "\tproblem broadcast bytes 8 algorithm binomial root 0 ranks 2   # in any order\r\n"
        "list 0 in 8 out 0 scratch 0\r\n"
        "send 1 in[0+8]#at once\r\n"
        "  # nothing here\n"
        "end\n"
        "list 1 in 0 out 8 scratch 0\n"
        "recv 0   out[0+8]\n"
        "wait\t0 1\n"
        "end";
    EXPECT_EQ(parse(text), parse(broadcast));
}

TEST(Parse, UnknownNamesGetTheNearestOne) {
    EXPECT_EQ(fault(with_tasks("  snd 0\n")), "5:3: unknown kind 'snd'; did you mean 'send'?");
    EXPECT_EQ(fault(with_tasks("  ennd\n")), "5:3: unknown kind 'ennd'; did you mean 'end'?");
    EXPECT_EQ(fault(with_tasks("  transmogrify 0\n")),
              "5:3: unknown kind 'transmogrify'; valid: send, recv, wait, copy, reduce, end");
    EXPECT_EQ(fault(with_tasks("  recv 0 aut[0+8]\n")), "5:10: unknown space 'aut'; did you mean 'out'?");
    EXPECT_EQ(fault(with_tasks("  reduce sun int32 out[0+4] scratch[0+4]\n")),
              "5:10: unknown operator 'sun'; did you mean 'sum'?");
    EXPECT_EQ(fault(with_tasks("  reduce sum int33 out[0+4] scratch[0+4]\n")),
              "5:14: unknown type 'int33'; did you mean 'int32'?");
    EXPECT_EQ(fault("problem barier ranks 1\n"), "1:9: unknown collective 'barier'; did you mean 'barrier'?");
    EXPECT_EQ(fault("problem MPI_Ibcast ranks 1\n"),
              "1:9: unknown collective 'MPI_Ibcast'; did you mean 'broadcast'?");
    EXPECT_EQ(fault("problem barrier rank 1\n"), "1:17: unknown word 'rank'; did you mean 'ranks'?");
}

TEST(Parse, NumbersFit) {
    EXPECT_EQ(fault("problem barrier ranks 2147483648\n"), "1:23: ranks 2147483648 is too large");
    EXPECT_EQ(fault("problem broadcast ranks 1 root 0 bytes 18446744073709551616\n"),
              "1:40: '18446744073709551616' does not fit in 64 bits");
    EXPECT_EQ(fault(with_tasks("wait 0 99999999999999999999\n")),
              "5:8: '99999999999999999999' does not fit in 64 bits");
    EXPECT_EQ(fault(with_tasks("wait 0 -1\n")), "5:8: expected a number for count, not '-1'");
    EXPECT_EQ(fault(with_tasks("wait 0 0x1\n")), "5:8: expected a number for count, not '0x1'");
    EXPECT_EQ(parse(with_tasks("wait 0 18446744073709551615\n")).lists[1].tasks[0].count,
              std::numeric_limits<std::uint64_t>::max());
}

TEST(Parse, PeersAreRanks) {
    EXPECT_EQ(fault(with_tasks("  send 2\n")), "5:8: peer 2 is out of range: the group has ranks 0 to 1");
    EXPECT_EQ(fault(with_tasks("  send 4294967296\n")),
              "5:8: peer 4294967296 is out of range: the group has ranks 0 to 1");
    EXPECT_EQ(fault(with_tasks("  send\n")), "5:7: a number is missing for peer");
}

TEST(Parse, SpansLieInTheirSpace) {
    EXPECT_EQ(fault(with_tasks("recv 0 out[4+8]\n")),
              "5:8: out[4+8] is outside its space: out of rank 1 has 8 bytes");
    EXPECT_EQ(fault(with_tasks("send 0 in[0+1]\n")),
              "5:8: in[0+1] is outside its space: in of rank 1 has 0 bytes");
    EXPECT_THAT(fault(with_tasks("recv 0 out[18446744073709551615+2]\n")), HasSubstr("is outside its space"));
    EXPECT_THAT(fault(with_tasks("recv 0 out[1+18446744073709551615]\n")), HasSubstr("is outside its space"));
    EXPECT_EQ(fault(with_tasks("recv 0 out[8+0]\n")), "5:8: a span of zero bytes is left out");
    EXPECT_EQ(fault(with_tasks("recv 0 out\n")), "5:8: expected a span as in[0+8], not 'out'");
    EXPECT_EQ(fault(with_tasks("recv 0 out[0-8]\n")), "5:8: expected a span as in[0+8], not 'out[0-8]'");
    EXPECT_EQ(fault(with_tasks("recv 0 out[0+]\n")), "5:14: a number is missing for length");
    EXPECT_EQ(fault(with_tasks("recv 0 out[x+8]\n")), "5:12: expected a number for offset, not 'x'");
    EXPECT_EQ(fault(with_tasks("copy out[0+8]\n")), "5:14: a span is missing");
}

TEST(Parse, EnableTasksAreNotForLists) {
    EXPECT_EQ(fault(with_tasks(" enable_send 0 1\n")),
              "5:2: enable_send is not allowed in a list: only lowering makes it");
    EXPECT_THAT(fault(with_tasks("enable_recv 0 1\n")), HasSubstr("only lowering makes it"));
}

TEST(Parse, LinesHoldOneThing) {
    EXPECT_EQ(fault(with_tasks("wait 0 1 1\n")), "5:10: unexpected '1' at the end of the line");
    EXPECT_EQ(fault(with_tasks("send 0 scratch[0+1] scratch[0+1]\n")),
              "5:21: unexpected 'scratch[0+1]' at the end of the line");
    EXPECT_EQ(fault("problem barrier ranks 1\nlist 0 in 0 out 0 scratch 0 end\n"),
              "2:29: unexpected 'end' at the end of the line");
    EXPECT_EQ(fault("problem barrier ranks 1\nlist 0 in 0 out 0 scratch 0\nend list\n"),
              "3:5: unexpected 'list' at the end of the line");
}

TEST(Parse, EveryRankHasItsList) {
    const std::string problem = "problem barrier ranks 3\n";
    const auto list = [](const std::string& rank) { return "list " + rank + " in 0 out 0 scratch 0\nend\n"; };
    EXPECT_EQ(fault(problem), "2:1: list of rank 0 is missing");
    EXPECT_EQ(fault(problem + list("0") + list("1")), "6:1: list of rank 2 is missing");
    EXPECT_EQ(fault(problem + list("0") + list("2")),
              "4:6: list of rank 1 is missing: lists stand in rank order");
    EXPECT_EQ(fault(problem + list("0") + list("1") + list("0")), "6:6: list of rank 0 is given twice");
    EXPECT_EQ(fault(problem + list("3")), "2:6: rank 3 is out of range: the group has ranks 0 to 2");
    const std::string all = problem + list("0") + list("1") + list("2");
    EXPECT_EQ(fault(all), "parsed");
    EXPECT_EQ(fault(all + "rubbish\n"), "8:1: after the last list: 'rubbish'");
    EXPECT_EQ(fault(all + list("2")), "8:6: list of rank 2 is given twice");
    EXPECT_EQ(fault(problem + "rubbish\n"), "2:1: expected 'list', not 'rubbish'");
}

TEST(Parse, ListsEnd) {
    EXPECT_EQ(fault("problem barrier ranks 1\nlist 0 in 0 out 0 scratch 0\n"),
              "3:1: file ends inside list of rank 0: 'end' is missing");
    EXPECT_EQ(fault("problem barrier ranks 1\nlist 0 in 0 out 0 scratch 0\n  wait 0 1"),
              "3:11: file ends inside list of rank 0: 'end' is missing");
    EXPECT_EQ(
        fault("problem barrier ranks 2\nlist 0 in 0 out 0 scratch 0\nlist 1 in 0 out 0 scratch 0\nend\n"),
        "3:1: list of rank 0 has no 'end'");
}

TEST(Parse, SizesAreThoseOfTheProblem) {
    const std::string problem = "problem broadcast ranks 1 root 0 bytes 8\n";
    EXPECT_EQ(fault(problem + "list 0 in 9 out 0 scratch 0\nend\n"),
              "2:11: 'in' of rank 0 must be 8 bytes for this problem, not 9");
    EXPECT_EQ(fault(problem + "list 0 in 8 out 8 scratch 0\nend\n"),
              "2:17: 'out' of rank 0 must be 0 bytes for this problem, not 8");
    EXPECT_EQ(fault(problem + "list 0 in 8 out 0 scratch 9223372036854775808\nend\n"),
              "2:27: 9223372036854775808 bytes are too many");
    EXPECT_EQ(fault(problem + "list 0 out 0 in 8 scratch 0\nend\n"), "2:8: expected 'in', not 'out'");
    EXPECT_EQ(fault(problem + "list 0 in 8 out 0\nend\n"), "2:18: 'scratch' is missing");
    EXPECT_EQ(fault(problem + "list 0 in\nend\n"), "2:10: a number is missing for in");
}

TEST(Parse, HostileTextCostsNoMoreThanItsLength) {
    EXPECT_EQ(fault("problem barrier ranks 2147483647\n"), "2:1: list of rank 0 is missing");
    EXPECT_EQ(fault("problem gatherv ranks 2147483647 root 2147483647\n"),
              "2:1: parts of rank 0 are missing");
    const std::string bytes("problem barrier ranks 1\nlist 0 in 0 out 0 scratch 0\n\0\xff'\n", 55);
    EXPECT_THAT(fault(bytes), HasSubstr("3:1: unknown kind '\\x00\\xff''"));
    const std::string error = fault(std::string(1'000'000, 'x'));
    EXPECT_LT(error.size(), 100U);
    EXPECT_THAT(error, HasSubstr("xxx...'"));
}

TEST(Parse, EveryTruncationIsRefused) {
    for (const char* whole : {broadcast, hand_written::neighbors_of_2, hand_written::reduce_in_order}) {
        const std::string text = whole;
        // All but the last newline, without which the file is still whole.
        for (std::size_t length = 0; length + 1 < text.size(); ++length)
            EXPECT_NE(fault(text.substr(0, length)), "parsed") << length;
    }
}

constexpr const char* in_chunks =
    "problem allreduce ranks 1 chunks 3 min_bytes 24 max_bytes 4096 ordered algorithm own\n"
    "list 0 in 3 out 3 scratch 3\n"
    "  copy out[0+3] in[0+3]\n"
    "  reduce out[0+1] scratch[0+1]\n"
    "end\n";

TEST(TextInChunks, HasNeitherBytesNorOperatorNorType) {
    const ListSet set = parse(in_chunks);
    EXPECT_EQ(set.problem.bytes, 3U);
    EXPECT_EQ(set.chunks, (ChunkSizes{24, 4096}));
    EXPECT_EQ(print(set), in_chunks);
    EXPECT_EQ(fault("problem allreduce ranks 1 chunks 3 op sum\n"),
              "1:36: lists in chunks have no 'op': they serve all");
    EXPECT_EQ(fault("problem allgather ranks 1 bytes 3 chunks 3\n"),
              "1:27: lists in chunks have no 'bytes': they serve all");
    EXPECT_EQ(fault("problem allgather ranks 1 bytes 3 min_bytes 3\n"), "1:35: 'min_bytes' needs 'chunks'");
    EXPECT_EQ(fault("problem allgather ranks 1 chunks 0\n"), "1:34: a block has 1 to 1048576 chunks, not 0");
    EXPECT_EQ(fault("problem barrier ranks 1 chunks 2\n"), "1:25: barrier has no 'chunks'");
}

TEST(Sets, FollowOneAnotherInAFile) {
    const std::string text = std::string(broadcast) + in_chunks;
    const std::vector<ParsedSet> sets = parse_sets(text);
    ASSERT_EQ(sets.size(), 2U);
    EXPECT_EQ(print(sets[0].set) + print(sets[1].set), text);
    EXPECT_EQ(sets[0].list_lines, (std::vector<int>{2, 5}));
    EXPECT_EQ(sets[0].task_lines, (std::vector<std::vector<int>>{{3}, {6, 7}}));
    EXPECT_EQ(sets[1].task_lines, (std::vector<std::vector<int>>{{11, 12}}));
    EXPECT_EQ(line_of(sets[1], 0, 1), 12);
    EXPECT_EQ(line_of(sets[1], 0, std::nullopt), 10);
    EXPECT_EQ(fault(text), "9:1: after the last list: 'problem'");
}

// The line of problems, and the parts of their ranks.

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
    EXPECT_EQ(fault(user + "opaqe:3\n"), "1:43: unknown type 'opaqe'; did you mean 'opaque'?");
    EXPECT_EQ(fault(user + "int32:4\n"), "1:48: the size of an element of int32 is known");
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
    EXPECT_EQ(fault(problem + "hosts 0,0,1 order 0,1\n"), "1:43: the order has 2 ranks, but the group has 3");
    EXPECT_EQ(fault(problem + "hosts 0,0,1 order 0,1,1\n"), "1:43: the order contains rank 1 twice");
    EXPECT_EQ(fault(problem + "hosts 0,0,1 order 0,1,3\n"),
              "1:43: the order contains rank 3, but the group has 3 ranks");
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

// Faults between the parts of several ranks have the line of one of them.
TEST(Parse, PartsMeet) {
    const std::string text = hand_written::alltoallv_of_2;
    EXPECT_EQ(fault(with(text, "receives 0:2+4 1:10+2", "receives 0:2+4 1:10+1")),
              "3:1: alltoallv: rank 1 sends 2 bytes to rank 0, which expects 1");
    EXPECT_EQ(fault(with(text, "1:4+0 receives", "receives")),
              "4:1: alltoallv: the sends of rank 1 must be with all ranks, in rank order");
    EXPECT_EQ(fault(with(hand_written::reduce_scatter_of_3, "type uint32", "type uint64")),
              "3:1: 4 bytes are not whole elements of uint64");
}

}  // namespace
}  // namespace lapwing
