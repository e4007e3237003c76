// Gather and scatter along a path through a torus: which links the messages of a step take. Kaiser et al.
// 2009, section 3.1 and figure 2: links go one way, and a message goes along the first dimension first.

#include "collectives/arithmetic.hpp"
#include "collectives/lists.hpp"
#include "support/unit.hpp"
#include "task/checker.hpp"
#include "topology/host_order.hpp"

namespace lapwing {
namespace {

using topology::Grid;

// One rank on each host. Ranks are numbered along x first.
Problem on_torus(Collective collective, const Grid& grid, int place_of_root, bool by_path = true) {
    Problem problem = problem_of(collective, grid.size(), 0, 8);
    std::vector<std::uint64_t> hosts(static_cast<std::size_t>(grid.size()));
    std::iota(hosts.begin(), hosts.end(), 0);
    const std::vector<int> path = topology::path_through(grid);
    problem.root = path[static_cast<std::size_t>(place_of_root)];
    problem.placement = std::make_shared<Placement>(hosts, by_path ? path : std::vector<int>{});
    return problem;
}

// The number of messages of one step that share a link, at most.
int most_on_a_link(const Problem& problem, const Grid& grid) {
    // By the step and the link: a cell, and the dimension in which it leaves the cell.
    std::map<std::pair<int, std::pair<int, int>>, int> messages;
    int most = 0;
    for (int rank = 0; rank < problem.ranks; ++rank) {
        for (const Task& task : build(problem, rank, parse_choice(problem.collective, "binomial")).tasks) {
            if (!sends(task.kind)) continue;
            // Along the path messages go forth, in rank order those of a gather go back. Steps are told apart
            // by how far.
            const int forth = relative_rank(problem.placement->place(task.peer),
                                            problem.placement->place(rank), problem.ranks);
            const int step = problem.placement->in_rank_order() ? problem.ranks - forth : forth;
            int cell = rank;
            int stride = 1;
            for (std::size_t dimension = 0; dimension < grid.extents.size(); ++dimension) {
                const int extent = grid.extents[dimension];
                while (cell / stride % extent != task.peer / stride % extent) {
                    most = std::max(most, ++messages[{step, {cell, static_cast<int>(dimension)}}]);
                    const int digit = cell / stride % extent;
                    cell += ((digit + 1) % extent - digit) * stride;
                }
                stride *= extent;
            }
        }
    }
    return most;
}

TEST(Torus, TheMessagesOfAStepShareNoLink) {
    for (const Collective collective : {Collective::gather, Collective::scatter}) {
        for (int x = 2; x <= 8; ++x) {
            for (int y = 2; y <= 8; ++y) {
                const Grid grid{true, {x, y}};
                const int end = collective == Collective::gather ? grid.size() - 1 : 0;
                EXPECT_EQ(most_on_a_link(on_torus(collective, grid, end), grid), 1) << x << " x " << y;
            }
        }
        for (const int extent : {4, 8}) {
            const Grid grid{true, {extent, extent}};
            for (int root = 0; root < grid.size(); ++root)
                EXPECT_EQ(most_on_a_link(on_torus(collective, grid, root), grid), 1) << extent << " " << root;
        }
    }
}

TEST(Torus, InRankOrderTheyShareLinks) {
    const Grid four{true, {4, 4}};
    const Grid eight{true, {8, 8}};
    EXPECT_EQ(most_on_a_link(on_torus(Collective::gather, four, 0, false), four), 2);
    EXPECT_EQ(most_on_a_link(on_torus(Collective::gather, eight, 0, false), eight), 4);
}

TEST(Torus, ListsAreRight) {
    for (const Collective collective : {Collective::gather, Collective::scatter}) {
        for (const auto& extents : {std::vector<int>{2, 2}, {3, 4}, {4, 4}, {2, 3, 2}, {5, 3}}) {
            const Grid grid{true, extents};
            for (int root = 0; root < grid.size(); ++root) {
                for (const bool in_place : {false, true}) {
                    Problem problem = on_torus(collective, grid, root);
                    problem.in_place = in_place;
                    for (const char* name : {"binary", "binomial"}) {
                        if (collective == Collective::scatter && name == std::string("binary")) continue;
                        const ListSet set = build_all(problem, parse_choice(collective, name));
                        const auto violations = check(problem, set.lists);
                        ASSERT_TRUE(violations.empty()) << name << ": " << violations.front().what(set.lists);
                    }
                }
            }
        }
    }
}

}  // namespace
}  // namespace lapwing
