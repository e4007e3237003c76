// The algorithms over all levels: the checker proves them for nestings of any shape, and few messages cross
// the bounds of groups.

#include "collectives/levels.hpp"
#include "collectives/catalogue.hpp"
#include "lists.hpp"
#include "support/unit.hpp"
#include "task/checker.hpp"
#include "task/text.hpp"

namespace lapwing {
namespace {

using Numbers = std::vector<std::uint64_t>;

const Collective collectives[] = {Collective::barrier, Collective::broadcast, Collective::reduce,
                                  Collective::allreduce};

Choice multi_level(Collective collective, const std::string& values = "") {
    return parse_choice(collective, "multi_level" + values);
}

// Hosts, NUMA nodes and caches of sizes from 1 on. `shuffled`: ranks are on any of them.
std::shared_ptr<const Placement> random_nesting(int ranks, bool shuffled, std::mt19937& random) {
    std::vector<int> seats(static_cast<std::size_t>(ranks));
    std::iota(seats.begin(), seats.end(), 0);
    if (shuffled) std::shuffle(seats.begin(), seats.end(), random);
    std::vector<Numbers> levels(3, Numbers(seats.size()));
    std::uint64_t number = 0;
    // How often a level ends: sizes of groups differ, and some levels are missing.
    const std::uint64_t chance[] = {random() % 24 + 3, random() % 8 + 2, random() % 4 + 2};
    std::uint64_t current[3] = {};
    for (const int rank : seats) {
        for (std::size_t level = 0; level < 3; ++level) {
            if (random() % chance[level] != 0) continue;
            for (std::size_t inner = level; inner < 3; ++inner) current[inner] = ++number;
        }
        for (std::size_t level = 0; level < 3; ++level)
            levels[level][static_cast<std::size_t>(rank)] = current[level];
    }
    return std::make_shared<const Placement>(levels[0], seats, std::span(levels).subspan(1));
}

TEST(Levels, ListsAreProvenForNestingsOfAnyShape) {
    std::mt19937 random(7);
    int proven = 0;
    int ordered = 0;
    for (int turn = 0; turn < 1500; ++turn) {
        const int ranks = turn % 50 == 0 ? 128 : static_cast<int>(random() % 24 + 1);
        const Collective collective = collectives[random() % 4];
        const int root = has_root(collective) ? static_cast<int>(random() % static_cast<unsigned>(ranks)) : 0;
        const bool keeps_order = is_reduction(collective) && random() % 2 == 0;
        Problem problem =
            problem_of(collective, ranks, root, collective == Collective::barrier ? 0 : 8 * (random() % 300),
                       may_be_in_place(collective) && random() % 2 == 0, keeps_order);
        problem.placement = random_nesting(ranks, !keeps_order && random() % 2 == 0, random);
        const std::string values = collective == Collective::barrier
                                       ? fmt::format(":k={}", random() % 6)
                                       : fmt::format(":k={}:segment={}", random() % 6, random() % 2);
        const Choice choice = multi_level(collective, values);
        if (!choice.algorithm->applies(problem, choice.parameters)) continue;
        const ListSet set = build_all(problem, choice);
        const auto violations = check(problem, set.lists);
        ASSERT_TRUE(violations.empty())
            << print(problem) << " " << set.algorithm << ": " << violations.front().what(set.lists);
        ++proven;
        if (keeps_order) ++ordered;
    }
    EXPECT_GT(proven, 1000);
    EXPECT_GT(ordered, 100);
}

TEST(Levels, TheTreeOfEveryRootReachesEachOf128RanksOnce) {
    std::mt19937 random(3);
    for (int root = 0; root < 128; ++root) {
        const auto placement = random_nesting(128, true, random);
        std::multiset<int> reached;
        for (int rank = 0; rank < 128; ++rank) {
            const levels::Tree tree = levels::tree_of(*placement, root, rank, 0, 1);
            ASSERT_EQ(tree.parent < 0, rank == root);
            ASSERT_EQ(tree.depth == 0, rank == root);
            reached.insert(tree.children.begin(), tree.children.end());
            for (const int child : tree.children) {
                const levels::Tree below = levels::tree_of(*placement, root, child, 0, 1);
                ASSERT_EQ(below.parent, rank);
                ASSERT_EQ(below.depth, tree.depth + 1);
            }
        }
        ASSERT_EQ(reached.size(), 127U);
        ASSERT_EQ(std::set<int>(reached.begin(), reached.end()).size(), 127U);
    }
}

TEST(Levels, OneMessageEntersEachGroup) {
    std::mt19937 random(11);
    for (int turn = 0; turn < 50; ++turn) {
        Problem problem = problem_of(Collective::broadcast, 60, static_cast<int>(random() % 60), 8);
        problem.placement = random_nesting(60, true, random);
        const Placement& placement = *problem.placement;
        if (placement.levels() == 1) continue;
        for (int level = 0; level < placement.levels(); ++level) {
            std::vector<int> entering(static_cast<std::size_t>(placement.groups(level)));
            for (int rank = 0; rank < 60; ++rank) {
                for (const Task& task : build(problem, rank, multi_level(problem.collective)).tasks) {
                    if (!sends(task.kind)) continue;
                    const int group = placement.group_of(level, task.peer);
                    if (group != placement.group_of(level, rank)) ++entering[static_cast<std::size_t>(group)];
                }
            }
            for (int group = 0; group < placement.groups(level); ++group) {
                const bool of_root = group == placement.group_of(level, problem.root);
                ASSERT_EQ(entering[static_cast<std::size_t>(group)], of_root ? 0 : 1)
                    << print(problem) << " level " << level;
            }
        }
    }
}

Problem on_one_host(Problem problem, const std::vector<Numbers>& groups) {
    problem.ranks = static_cast<int>(groups.front().size());
    problem.placement =
        std::make_shared<const Placement>(Numbers(groups.front().size()), std::span<const int>{}, groups);
    return problem;
}

TEST(Levels, DeclineWhereThereIsOneLevelOrAnotherOrder) {
    const auto why_not = [](const Problem& problem) {
        const Choice choice = multi_level(problem.collective);
        const Verdict verdict = choice.algorithm->applies(problem, choice.parameters);
        return std::string(verdict ? "" : verdict.reason());
    };
    const Problem barrier{.collective = Collective::barrier, .ranks = 4};
    EXPECT_EQ(why_not(barrier), "the hosts of the ranks are unknown");
    EXPECT_EQ(why_not(on_one_host(barrier, {{0, 0, 0, 0}})), "all ranks are on one host");
    EXPECT_EQ(why_not(on_one_host(barrier, {{0, 0, 0, 1}})), "");
    const Problem reduce = problem_of(Collective::reduce, 4, 1, 8, false, true);
    EXPECT_EQ(why_not(on_one_host(reduce, {{0, 0, 1, 1}})), "");
    EXPECT_EQ(why_not(on_one_host(reduce, {{0, 1, 0, 1}})),
              "the operator does not commute, and the ranks are not in rank order host by host");
}

TEST(Levels, EachTaskIsNeeded) {
    const std::vector<Numbers> groups{{0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1},
                                      {0, 0, 0, 1, 1, 2, 0, 0, 1, 1, 1, 1}};
    for (const Collective collective : collectives) {
        for (const bool ordered : {false, true}) {
            if (ordered && !is_reduction(collective)) continue;
            const int root = has_root(collective) ? 4 : 0;
            const bool barrier = collective == Collective::barrier;
            const Problem problem =
                on_one_host(problem_of(collective, 12, root, barrier ? 0 : 2048, false, ordered), groups);
            const ListSet right = build_all(problem, multi_level(collective, barrier ? "" : ":segment=1"));
            ASSERT_TRUE(check(problem, right.lists).empty());
            for (std::size_t rank = 0; rank < right.lists.size(); ++rank) {
                for (std::size_t task = 0; task < right.lists[rank].tasks.size(); ++task) {
                    ListSet set = right;
                    std::vector<Task>& tasks = set.lists[rank].tasks;
                    tasks.erase(tasks.begin() + static_cast<std::ptrdiff_t>(task));
                    ASSERT_FALSE(check(problem, set.lists).empty())
                        << print(problem) << " without task " << task << " of\n"
                        << print(right.lists[rank]);
                }
            }
        }
    }
}

TEST(Levels, OuterLevelsAreServedFirst) {
    const Problem problem = on_one_host(problem_of(Collective::broadcast, 8, 0, 4),
                                        {{0, 0, 0, 0, 1, 1, 1, 1}, {0, 0, 1, 1, 0, 0, 1, 1}});
    EXPECT_EQ(print(build(problem, 0, multi_level(problem.collective))),
              "list 0 in 4 out 0 scratch 0\n"
              "  send 4 in[0+4]\n"
              "  send 2 in[0+4]\n"
              "  send 1 in[0+4]\n"
              "end\n");
}

}  // namespace
}  // namespace lapwing
