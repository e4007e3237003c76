// Faults that only some collectives can have: in reductions and their order, in place, in blocks of several
// lengths.

#include "checker_lists.hpp"
#include "checker_verdict.hpp"
#include "support/unit.hpp"

namespace lapwing {
namespace {

using namespace hand_written;
using testing::HasSubstr;

// reductions

TEST(CheckerReductions, OutOfOrder) {
    // The first rank's own on the right.
    const std::string swapped =
        with(with(reduce_in_order, "list 0 in 8 out 8 scratch 0\n  recv 1 out[0+8]\n",
                  "list 0 in 8 out 8 scratch 8\n  recv 1 scratch[0+8]\n  copy out[0+8] in[0+8]\n"),
             "reduce user opaque out[0+8] in[0+8]", "reduce user opaque out[0+8] scratch[0+8]");
    EXPECT_EQ(
        verdict(swapped),
        "provenance: rank 0, task 3 (reduce user opaque out[0+8] scratch[0+8]): the contribution of rank "
        "0 follows that of rank 2 in out[0+8], and the operator does not commute");
    EXPECT_EQ(verdict(with(swapped, " ordered", "")), "proven");
    EXPECT_THAT(verdict(with(scan_of_3, "  reduce user opaque out[0+8] scratch[0+8]\n  send 2 out[0+8]\n",
                             "  reduce user opaque scratch[0+8] out[0+8]\n  copy out[0+8] scratch[0+8]\n"
                             "  send 2 out[0+8]\n")),
                HasSubstr("the contribution of rank 0 follows that of rank 1 in out[0+8], and the operator"));
}

TEST(CheckerReductions, ByTheCallersOwnFunctionInWholeElements) {
    EXPECT_THAT(verdict(with(reduce_in_order, "reduce user opaque scratch[0+8] in[0+8]",
                             "reduce user opaque scratch[0+4] in[0+4]")),
                HasSubstr("4 bytes are not whole elements of opaque"));
    EXPECT_THAT(verdict(with(reduce_in_order, "reduce user opaque scratch[0+8] in[0+8]",
                             "reduce sum uint32 scratch[0+8] in[0+8]")),
                HasSubstr("the problem reduces by user of opaque"));
}

TEST(CheckerReductions, AScanThatTakesOneRankTooMany) {
    const std::string text = with(exscan_in_place, "copy out[0+4] scratch[0+4]\nend\nlist 2",
                                  "copy out[0+4] scratch[4+4]\nend\nlist 2");
    EXPECT_EQ(verdict(text),
              "provenance: rank 1, task 5 (copy out[0+4] scratch[4+4]): the contribution of rank 1 does not "
              "belong in out[0+4]");
    // The exscan that is a scan.
    EXPECT_THAT(verdict(with(exscan_in_place, "  wait 1 1\n  copy out[0+4] scratch[0+4]\n",
                             "  wait 1 1\n  reduce sum uint32 out[0+4] scratch[0+4]\n")),
                HasSubstr("the contribution of rank 2 does not belong in out[0+4]"));
}

TEST(CheckerReductions, AScanThatTakesOneRankTooFew) {
    EXPECT_THAT(verdict(with(exscan_in_place, "  reduce sum uint32 scratch[4+4] scratch[0+4]\n", "")),
                HasSubstr("the contribution of rank 0 is lost in out[0+4]"));
    EXPECT_EQ(verdict(with(exscan_in_place, "  copy out[0+4] scratch[0+4]\nend\nlist 2", "end\nlist 2")),
              "provenance: rank 1: out[0+4] holds out[0+4] of rank 1 as it was at the start, must hold "
              "out[0+4] of rank 0 as it was at the start");
}

// parts

TEST(CheckerParts, NothingIsWrittenBetweenBlocks) {
    EXPECT_EQ(verdict(with(alltoallv_of_2, "recv 1 out[10+2]", "recv 1 out[9+2]")),
              "form: rank 0, task 0 (recv 1 out[9+2]): out[9+2] is not inside a block of the result");
    EXPECT_EQ(verdict(with(alltoallv_of_2, "copy out[2+4] in[8+4]", "copy out[0+6] in[6+6]")),
              "form: rank 0, task 2 (copy out[0+6] in[6+6]): out[0+6] is not inside a block of the result");
    // Blocks side by side are one.
    EXPECT_THAT(verdict(with(gatherv_in_place, "  wait 0 1\n", "  wait 0 1\n  copy out[0+7] out[0+7]\n")),
                HasSubstr("target and source overlap"));
}

TEST(CheckerParts, BlocksOfNoBytesAreNotMissed) {
    EXPECT_THAT(verdict(with(gatherv_in_place, "list 1 in 0 out 0 scratch 0\n",
                             "list 1 in 0 out 0 scratch 0\n  send 2\n")),
                HasSubstr("matching: rank 1, task 0 (send 2): no receive of rank 2 matches it"));
}

TEST(CheckerParts, NeighbourTwiceInTheWrongOrder) {
    EXPECT_EQ(verdict(with(neighbors_of_2, "  send 1 in[0+4]\n  send 1 in[4+4]\n",
                           "  send 1 in[4+4]\n  send 1 in[0+4]\n")),
              "provenance: rank 1, task 0 (recv 0 out[0+4]): out[0+4] holds in[4+4] of rank 0, must hold "
              "in[0+4] of rank 0");
    // Both sides in the other order is right.
    EXPECT_EQ(
        verdict(with(with(neighbors_of_2, "  send 1 in[0+4]\n  send 1 in[4+4]\n",
                          "  send 1 in[4+4]\n  send 1 in[0+4]\n"),
                     "  recv 0 out[0+4]\n  recv 0 out[4+4]\n", "  recv 0 out[4+4]\n  recv 0 out[0+4]\n")),
        "proven");
}

TEST(CheckerParts, ARankThatIsItsOwnNeighbourCopies) {
    EXPECT_EQ(verdict(with(neighbor_allgather_of_2, "  copy out[4+4] in[0+4]\n", "")),
              "provenance: rank 0: out[4+4] was never written");
}

TEST(CheckerParts, TheRootOfAScatterHasItsBlockToo) {
    const std::string text =
        with(with(with(scatterv_in_place, " in_place", ""), "2:6+1\n", "2:6+1 receives 0:0+2\n"),
             "in 7 out 0 scratch 0\n", "in 7 out 2 scratch 0\n");
    EXPECT_EQ(verdict(text), "provenance: rank 0: out[0+2] was never written");
    EXPECT_EQ(verdict(with(text, "  send 1 in[2+4]\n", "  send 1 in[2+4]\n  copy out[0+2] in[0+2]\n")),
              "proven");
}

}  // namespace
}  // namespace lapwing
