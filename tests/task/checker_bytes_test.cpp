// The rules of the checker that follow bytes: hazard and provenance.

#include "checker_lists.hpp"
#include "checker_verdict.hpp"
#include "support/unit.hpp"

namespace lapwing {
namespace {

using namespace hand_written;
using testing::HasSubstr;

// hazard

TEST(CheckerHazard, ReceiveReadBeforeItsWait) {
    const std::string text =
        with(gather_of_4, "  wait 3 1\n  send 0 scratch[0+8]\n", "  send 0 scratch[0+8]\n  wait 3 1\n");
    EXPECT_EQ(
        verdict(text),
        "hazard: rank 2, task 2 (send 0 scratch[0+8]): scratch[4+4] belongs to task 0 (recv 3 scratch[4+4]) "
        "until a wait for rank 3 has completed it");
}

TEST(CheckerHazard, ReduceBeforeTheWait) {
    EXPECT_THAT(
        verdict(with(allreduce_of_3, "  wait 1 1\n  reduce sum uint32 out[0+8] scratch[0+8]\n",
                     "  reduce sum uint32 out[0+8] scratch[0+8]\n  wait 1 1\n")),
        HasSubstr("hazard: rank 0, task 4 (reduce sum uint32 out[0+8] scratch[0+8]): scratch[0+8] belongs"));
}

TEST(CheckerHazard, SendSourceOverwritten) {
    const std::string text =
        with(gather_of_4, "  send 0 scratch[0+8]\n", "  send 0 scratch[0+8]\n  copy scratch[2+2] in[0+2]\n");
    EXPECT_EQ(
        verdict(text),
        "hazard: rank 2, task 4 (copy scratch[2+2] in[0+2]): task 3 (send 0 scratch[0+8]) may still read "
        "scratch[0+8] until the end of the list");
}

TEST(CheckerHazard, SendSourceReceivedInto) {
    const std::string text = with(
        with(barrier_of_2, "problem barrier ranks 2", "problem allreduce ranks 2 bytes 4 op sum type uint32"),
        R"(list 0 in 0 out 0 scratch 0
  recv 1
  send 1
)",
        R"(list 0 in 4 out 4 scratch 0
  copy out[0+4] in[0+4]
  send 1 out[0+4]
  recv 1 out[0+4]
)");
    EXPECT_EQ(
        verdict(with(text, R"(list 1 in 0 out 0 scratch 0
  recv 0
  send 0
)",
                     R"(list 1 in 4 out 4 scratch 0
  recv 0 out[0+4]
  send 0 in[0+4]
)")),
        "hazard: rank 0, task 2 (recv 1 out[0+4]): task 1 (send 1 out[0+4]) may still read out[0+4] until "
        "the end of the list");
}

TEST(CheckerHazard, TwoReceivesIntoOneSpan) {
    EXPECT_EQ(
        verdict(with(alltoall_of_3, "recv 2 out[8+4]", "recv 2 out[7+4]")),
        "hazard: rank 0, task 1 (recv 2 out[7+4]): out[4+4] belongs to task 0 (recv 1 out[4+4]) until a wait "
        "for rank 1 has completed it");
}

TEST(CheckerHazard, ASpanMayBeUsedAgainAfterItsWait) {
    const std::string text = R"(
problem gather ranks 3 root 0 bytes 4
list 0 in 4 out 12 scratch 4
  copy out[0+4] in[0+4]
  recv 1 scratch[0+4]
  wait 1 1
  copy out[4+4] scratch[0+4]
  recv 2 scratch[0+4]
  wait 2 1
  copy out[8+4] scratch[0+4]
end
list 1 in 4 out 0 scratch 0
  send 0 in[0+4]
end
list 2 in 4 out 0 scratch 0
  send 0 in[0+4]
end
)";
    EXPECT_EQ(verdict(text), "proven");
}

// provenance

TEST(CheckerProvenance, WrongBlockOrder) {
    const std::string text =
        with(with(gather_of_4, "recv 1 out[4+4]", "recv 1 out[12+4]"), "recv 2 out[8+8]", "recv 2 out[4+8]");
    EXPECT_EQ(verdict(text),
              "provenance: rank 0, task 1 (recv 2 out[4+8]): out[4+4] holds in[0+4] of rank 2, must hold "
              "in[0+4] of "
              "rank 1");
}

TEST(CheckerProvenance, NeverWritten) {
    EXPECT_EQ(verdict(with(alltoall_of_3, "  copy out[4+4] in[4+4]\n", "  copy out[4+2] in[4+2]\n")),
              "provenance: rank 1: out[6+2] was never written");
}

TEST(CheckerProvenance, UninitialisedScratchIsSent) {
    EXPECT_EQ(verdict(with(gather_of_4, "  copy scratch[0+4] in[0+4]\n", "  copy scratch[0+3] in[0+3]\n")),
              "provenance: rank 0, task 1 (recv 2 out[8+8]): out[11+1] holds bytes that were never written");
}

TEST(CheckerProvenance, InPlaceGatherKeepsTheRootsBlock) {
    const std::string roomy = with(gather_in_place, "in 0 out 12 scratch 0", "in 0 out 12 scratch 4");
    EXPECT_EQ(verdict(with(roomy, "recv 0 out[0+4]\n", "recv 0 scratch[0+4]\n  copy out[0+4] out[4+4]\n")),
              "provenance: rank 1, task 1 (copy out[0+4] out[4+4]): out[0+4] holds out[4+4] of rank 1 as it "
              "was at the start, must hold in[0+4] of rank 0");
    EXPECT_EQ(verdict(with(roomy, "  wait 0 1\n", "  wait 0 1\n  copy out[4+4] out[0+4]\n")),
              "provenance: rank 1, task 3 (copy out[4+4] out[0+4]): out[4+4] holds in[0+4] of rank 0, must "
              "hold out[4+4] of rank 1 as it was at the start");
}

TEST(CheckerProvenance, ContributionLost) {
    EXPECT_EQ(
        verdict(with(allreduce_of_3, "  reduce sum uint32 out[0+8] scratch[8+8]\n",
                     "  reduce sum uint32 out[0+4] scratch[8+4]\n")),
        "provenance: rank 0, task 5 (reduce sum uint32 out[0+8] scratch[0+8]): the contribution of rank 2 is "
        "lost in out[4+4]");
}

TEST(CheckerProvenance, ContributionCountsTwice) {
    EXPECT_EQ(
        verdict(with(allreduce_of_3, "  reduce sum uint32 out[0+8] scratch[8+8]\n",
                     "  reduce sum uint32 out[0+8] scratch[8+8]\n"
                     "  reduce sum uint32 out[0+8] scratch[8+8]\n")),
        "provenance: rank 0, task 8 (reduce sum uint32 out[0+8] scratch[8+8]): the contribution of rank 2 "
        "counts twice in out[0+8]");
}

TEST(CheckerProvenance, ContributionThatDoublesOverAndOver) {
    std::string doublings;
    for (int i = 0; i < 100; ++i)
        doublings += "  copy scratch[8+8] out[0+8]\n  reduce sum uint32 out[0+8] scratch[8+8]\n";
    EXPECT_THAT(verdict(with(allreduce_of_3, "  send 1 out[0+8]\n", doublings + "  send 1 out[0+8]\n")),
                HasSubstr("counts twice in out[0+8]"));
}

TEST(CheckerProvenance, ReductionOfElementsAtDifferentOffsets) {
    const std::string text = with(with(allreduce_of_3, "send 0 in[0+4]\n  send", "send 0 in[4+4]\n  send"),
                                  "  send 0 in[4+4]\n  wait", "  send 0 in[0+4]\n  wait");
    EXPECT_EQ(verdict(text),
              "provenance: rank 0, task 7 (reduce sum uint32 out[0+8] scratch[8+8]): out[0+4] holds in[4+4] "
              "of rank "
              "2, must hold in[0+4] of rank 2");
}

TEST(CheckerProvenance, ReductionAcrossTheBordersOfElements) {
    EXPECT_EQ(
        verdict(with(allreduce_of_3, "  reduce sum uint32 out[0+8] scratch[0+8]\n",
                     "  reduce sum uint32 out[2+4] scratch[2+4]\n")),
        "provenance: rank 0, task 5 (reduce sum uint32 out[2+4] scratch[2+4]): its elements of uint32 are "
        "pieced together from parts of elements");
}

TEST(CheckerProvenance, BarrierThatARankLeavesTooEarly) {
    std::string text = with(with(barrier_of_4, "  send 2\n  wait 2 1\n", ""), "  recv 2\n", "");
    text = with(text, "  send 0\n  wait 0 1\nend\nlist 3", "end\nlist 3");
    text = with(text, "  recv 3\n  recv 0\n", "  recv 3\n");
    EXPECT_EQ(verdict(text), "provenance: rank 0: rank 0 can leave before rank 2 has arrived");
}

TEST(CheckerProvenance, BarrierWhoseSendIsTooEarlyToKnow) {
    EXPECT_EQ(
        verdict(with(barrier_of_4, "  send 1\n  wait 1 1\n  send 2\n", "  send 1\n  send 2\n  wait 1 1\n")),
        "provenance: rank 2: rank 2 can leave before rank 1 has arrived");
}

}  // namespace
}  // namespace lapwing
