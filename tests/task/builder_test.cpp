#include "task/builder.hpp"

#include <gtest/gtest.h>

#include "task/text.hpp"

namespace lapwing {
namespace {

const Problem gather{.collective = Collective::gather, .ranks = 3, .root = 1, .bytes = 10};

TEST(Builder, ScratchIsAlignedAndDoesNotOverlap) {
    Builder builder(gather, 1);
    const Span first = builder.scratch(10);
    const Span second = builder.scratch(16);
    const Span third = builder.scratch(1);
    EXPECT_EQ(first, (Span{Space::scratch, 0, 10}));
    EXPECT_EQ(second, (Span{Space::scratch, 16, 16}));
    EXPECT_EQ(third, (Span{Space::scratch, 32, 1}));
    EXPECT_FALSE(first.overlaps(second));
    EXPECT_EQ(builder.finish().scratch_bytes, 33U);
}

TEST(Builder, JoinsCopiesThatContinueAndLeavesOutThoseToThemselves) {
    Builder builder(gather, 1);
    builder.copy(out(0, 4), in(0, 4));
    builder.copy(out(4, 4), in(4, 4));
    builder.copy(out(8, 2), out(8, 2));
    builder.copy(out(8, 2), in(0, 2));
    EXPECT_EQ(print(builder.finish()),
              "list 1 in 10 out 30 scratch 0\n"
              "  copy out[0+8] in[0+8]\n"
              "  copy out[8+2] in[0+2]\n"
              "end\n");
}

TEST(Builder, ZeroBytesAreASignalOrNothing) {
    Builder builder(gather, 1);
    builder.send(0, in(4, 0));
    builder.recv(2, out(7, 0));
    builder.copy(out(3, 0), in(3, 0));
    builder.reduce(out(3, 0), in(3, 0));
    const List list = builder.finish();
    ASSERT_EQ(list.tasks.size(), 2U);
    EXPECT_EQ(list.tasks[0].source, Span{});
    EXPECT_EQ(list.tasks[1].target, Span{});
}

}  // namespace
}  // namespace lapwing
