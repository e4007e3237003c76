// GOAL schedules of lists.
#include "simulate/goal.hpp"

#include <gtest/gtest.h>

#include "cases.hpp"
#include "task/builder.hpp"

namespace lapwing::simulate {
namespace {

TEST(Goal, OfABarrier) {
    const ListSet set =
        build_all(problem_for(Collective::barrier, 3), parse_choice(Collective::barrier, "dissemination"));
    EXPECT_EQ(print_goal(std::span(set.lists).first(1), {}),
              "num_ranks 1\n"
              "\n"
              "rank 0 {\n"
              "l1: recv 1b from 2 tag 0\n"
              "l2: recv 1b from 1 tag 0\n"
              "l3: send 1b to 1 tag 0\n"
              "l4: send 1b to 2 tag 0\n"
              "l4 requires l1\n"
              "l4 irequires l3\n"
              "}\n");
}

TEST(Goal, OperationsRequireWhatTheListHasWaitedFor) {
    Problem problem = problem_for(Collective::allreduce, 3, 1000);
    Builder list(problem, 0);
    list.recv(1, list.scratch(1000));
    list.recv(1, list.scratch(1000));
    list.recv(2, list.scratch(1000));
    list.send(1, in(0, 1000));
    list.wait(1, 2);
    list.reduce(out(0, 1000), in(0, 1000));
    list.wait(2);
    list.copy(out(0, 500), in(0, 500));
    list.send(2, out(0, 1000));
    const List made = list.finish();
    Parameters costs;
    costs.copy = 50 * nanosecond;
    costs.copy_per_byte = 100;
    EXPECT_EQ(print_goal(std::span(&made, 1), costs),
              "num_ranks 1\n"
              "\n"
              "rank 0 {\n"
              "l1: recv 1000b from 1 tag 0\n"
              "l2: recv 1000b from 1 tag 0\n"
              "l3: recv 1000b from 2 tag 0\n"
              "l4: send 1000b to 1 tag 0\n"
              "l5: calc 100\n"
              "l5 requires l1\n"
              "l5 requires l2\n"
              "l5 irequires l4\n"
              "l6: calc 100\n"
              "l6 requires l5\n"
              "l6 requires l3\n"
              "l6 irequires l4\n"
              "l7: send 1000b to 2 tag 0\n"
              "l7 requires l6\n"
              "l7 irequires l4\n"
              "}\n");
}

}  // namespace
}  // namespace lapwing::simulate
