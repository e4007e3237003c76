#include "task/builder.hpp"

#include <gtest/gtest.h>

#include "task/text.hpp"

namespace lapwing {
namespace {

const Problem gather{.collective = Collective::gather, .ranks = 3, .root = 1, .bytes = 10};

TEST(Builder, TakesTheShapeFromTheProblem) {
    const List root = Builder(gather, 1).finish();
    EXPECT_EQ(root.rank, 1);
    EXPECT_EQ(root.ranks, 3);
    EXPECT_EQ(root.in_bytes, 10U);
    EXPECT_EQ(root.out_bytes, 30U);
    EXPECT_EQ(root.scratch_bytes, 0U);
    const List leaf = Builder(gather, 0).finish();
    EXPECT_EQ(leaf.in_bytes, 10U);
    EXPECT_EQ(leaf.out_bytes, 0U);
}

TEST(Builder, WritesTasksInOrder) {
    const Problem product{.collective = Collective::reduce,
                          .ranks = 3,
                          .root = 1,
                          .bytes = 12,
                          .op = Operator::product,
                          .type = Type::float32};
    Builder builder(product, 1, 6);
    const Span scratch = builder.scratch(10);
    builder.recv(0, scratch);
    builder.send(2, in(2, 8));
    builder.wait(0);
    builder.wait(2, 3);
    builder.copy(out(0, 10), scratch);
    builder.reduce(out(0, 8), in(0, 8));
    EXPECT_EQ(print(builder.finish()),
              "list 1 in 12 out 12 scratch 10\n"
              "  recv 0 scratch[0+10]\n"
              "  send 2 in[2+8]\n"
              "  wait 0 1\n"
              "  wait 2 3\n"
              "  copy out[0+10] scratch[0+10]\n"
              "  reduce product float32 out[0+8] in[0+8]\n"
              "end\n");
}

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

TEST(Span, PartsAndOverlap) {
    const Span span = in(8, 8);
    EXPECT_EQ(span.end(), 16U);
    EXPECT_EQ(span.part(2, 3), in(10, 3));
    EXPECT_TRUE(span.overlaps(in(15, 4)));
    EXPECT_FALSE(span.overlaps(in(16, 4)));
    EXPECT_FALSE(span.overlaps(out(8, 8)));
}

}  // namespace
}  // namespace lapwing
