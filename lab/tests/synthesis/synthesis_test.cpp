#include <gmock/gmock.h>

#include <cmath>
#include <limits>

#include "base/error.hpp"
#include "simulate/random.hpp"
#include "synthesis/search.hpp"
#include "task/checker.hpp"
#include "task/sample.hpp"
#include "task/scaling.hpp"

namespace lapwing::synthesis {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr double latency = 50e-6;
constexpr double task = 2e-6;
constexpr double per_byte = 80e-9;  // 100 Mbit/s
constexpr double nowhere = std::numeric_limits<double>::infinity();

Links equal_links(int ranks) {
    const auto count = static_cast<std::size_t>(ranks);
    return {
        ranks, latency, task, per_byte, std::vector<double>(count, 1), std::vector<double>(count * count, 1)};
}

void set_pair(Links& links, int one, int other, double slowness) {
    links.pairs[static_cast<std::size_t>(one * links.ranks + other)] = slowness;
    links.pairs[static_cast<std::size_t>(other * links.ranks + one)] = slowness;
}

Problem problem_of(Collective collective, int ranks, int root = 0) {
    return {.collective = collective, .ranks = ranks, .root = has_root(collective) ? root : 0, .bytes = 1};
}

const std::vector<Collective> synthesized = {
    Collective::broadcast, Collective::gather, Collective::scatter,   Collective::allgather,
    Collective::alltoall,  Collective::reduce, Collective::allreduce, Collective::reduce_scatter_block};

Routes found(const Links& links, const Problem& problem, int pieces, double bytes,
             std::uint64_t steps = 2000) {
    return search(links, problem, pieces, bytes, {.steps = steps});
}

int messages_between(const ListSet& set, int one, int other) {
    int messages = 0;
    for (const List& list : set.lists) {
        for (const Task& task_of_list : list.tasks) {
            const bool between = (list.rank == one && task_of_list.peer == other) ||
                                 (list.rank == other && task_of_list.peer == one);
            if (task_of_list.kind == Kind::send && between) ++messages;
        }
    }
    return messages;
}

std::vector<std::string> wrong(const ListSet& set) {
    std::vector<std::string> whats;
    for (const Violation& violation : check(set.problem, set.lists))
        whats.push_back(violation.what(set.lists));
    if (whats.empty()) {
        for (const Violation& violation : check_chains_on_hosts(set.lists, 1))
            whats.push_back(violation.what(set.lists));
    }
    if (whats.empty() && !first_unaligned(set).empty())
        whats.push_back("not aligned: " + first_unaligned(set));
    return whats;
}

TEST(Synthesis, AllgatherOfEqualLinksReachesTheBound) {
    for (const int ranks : {2, 3, 4, 6}) {
        const Links links = equal_links(ranks);
        constexpr double bytes = 65536;
        const Problem problem = problem_of(Collective::allgather, ranks);
        const Schedule schedule_found = schedule(links, found(links, problem, 1, bytes), bytes);
        const double least = latency + 2 * task + (ranks - 1) * bytes * per_byte;
        EXPECT_DOUBLE_EQ(lower_bound(links, problem, bytes), least);
        // The steps of a ring: a message each.
        EXPECT_GE(schedule_found.seconds, least);
        EXPECT_LE(schedule_found.seconds, least + (ranks - 2) * (latency + 2 * task)) << ranks;
    }
}

TEST(Synthesis, ShortBroadcastDoublesTheRanksInEachRound) {
    // The processor's part is as long as that of the network: one message in each round.
    Links links = equal_links(8);
    links.task = latency;
    const Schedule short_one =
        schedule(links, found(links, problem_of(Collective::broadcast, 8), 1, 1, 5000), 1);
    const double bound = lower_bound(links, problem_of(Collective::broadcast, 8), 1);
    EXPECT_NEAR(short_one.seconds, bound, bound * 0.01);
}

TEST(Synthesis, AllreduceWithASlowPortSendsEachByteThroughItOnce) {
    Links links = equal_links(4);
    links.ports[3] = 10;
    constexpr double bytes = 1 << 20;
    const Problem problem = problem_of(Collective::allreduce, 4);
    const Routes routes = found(links, problem, 8, bytes / 8, 10000);
    const ListSet set = lists_of(problem, routes, schedule(links, routes, bytes / 8));
    EXPECT_THAT(wrong(set), IsEmpty());
    int sent = 0;
    for (const Task& one : set.lists[3].tasks) sent += one.kind == Kind::send ? 1 : 0;
    EXPECT_EQ(sent, 8);
    // A ring sends 1.5 times the block.
    EXPECT_LT(schedule(links, routes, bytes / 8).seconds, 1.25 * 10 * bytes * per_byte);
}

TEST(Synthesis, ASlowLinkIsAvoided) {
    Links links = equal_links(4);
    set_pair(links, 0, 1, 100);
    constexpr double bytes = 65536;
    for (const Collective collective : synthesized) {
        const Problem problem = problem_of(collective, 4);
        const Routes routes = found(links, problem, 2, bytes / 2, 4000);
        const ListSet set = lists_of(problem, routes, schedule(links, routes, bytes / 2));
        EXPECT_EQ(messages_between(set, 0, 1), 0) << name(collective);
    }
}

TEST(Synthesis, AMissingLinkIsNeverUsed) {
    Links links = equal_links(5);
    set_pair(links, 0, 1, nowhere);
    set_pair(links, 0, 2, nowhere);
    set_pair(links, 3, 4, nowhere);
    for (const Collective collective : synthesized) {
        const Problem problem = problem_of(collective, 5, 1);
        const Routes routes = found(links, problem, 2, 1000, 500);
        const ListSet set = lists_of(problem, routes, schedule(links, routes, 1000));
        EXPECT_THAT(wrong(set), IsEmpty()) << name(collective);
        for (const auto& [one, other] : {std::pair{0, 1}, {0, 2}, {3, 4}})
            EXPECT_EQ(messages_between(set, one, other), 0) << name(collective);
    }
}

TEST(Synthesis, RanksThatNothingJoinsAreRefused) {
    Links links = equal_links(4);
    for (const int rank : {0, 1, 2}) set_pair(links, rank, 3, nowhere);
    EXPECT_THAT([&] { require_connected(links); },
                testing::ThrowsMessage<Error>("no path of links connects ranks 0 and 3: no lists exist"));
    set_pair(links, 2, 3, 5);
    EXPECT_NO_THROW(require_connected(links));
    // One way is not enough.
    links.pairs[static_cast<std::size_t>(3 * 4 + 2)] = nowhere;
    EXPECT_THROW(require_connected(links), Error);
}

TEST(Synthesis, AllListsAreRightOnRandomLinks) {
    std::uint64_t number = 0;
    for (const int ranks : {2, 3, 5, 8, 9, 12}) {
        Links links = equal_links(ranks);
        for (double& port : links.ports) port = simulate::random_bits(7, 0, ++number) % 3 == 0 ? 4 : 1;
        for (double& pair : links.pairs) pair = simulate::random_bits(7, 0, ++number) % 4 == 0 ? 20 : 1;
        for (const Collective collective : synthesized) {
            if (ranks > 9 && collective == Collective::alltoall) continue;
            for (const int pieces : {1, 3}) {
                const Problem problem = problem_of(collective, ranks, ranks - 1);
                const double bytes = pieces == 1 ? 8 : 30000;
                const Routes routes = found(links, problem, pieces, bytes, ranks > 5 ? 20 : 100);
                const Schedule one = schedule(links, routes, bytes);
                EXPECT_THAT(wrong(lists_of(problem, routes, one)), IsEmpty())
                    << name(collective) << " of " << ranks << " ranks, " << pieces << " pieces";
                EXPECT_GE(one.seconds * (1 + 1e-9), lower_bound(links, problem, bytes * pieces))
                    << name(collective) << " of " << ranks << " ranks";
            }
        }
    }
}

TEST(Synthesis, EveryConstructionIsRight) {
    Links links = equal_links(12);
    links.ports[5] = 10;
    for (const Collective collective :
         {Collective::allreduce, Collective::broadcast, Collective::reduce_scatter_block}) {
        const Problem problem = problem_of(collective, 12);
        const std::vector<Routes> all = constructions(links, problem, 2, 10000);
        EXPECT_EQ(all.size(), 4U) << name(collective);  // greedy, ring, ring with a leaf, two levels
        for (const Routes& routes : all)
            EXPECT_THAT(wrong(lists_of(problem, routes, schedule(links, routes, 10000))), IsEmpty());
    }
}

TEST(Synthesis, TheSameSeedGivesTheSameLists) {
    Links links = equal_links(5);
    links.ports[2] = 3;
    const Problem problem = problem_of(Collective::allreduce, 5);
    const auto lists = [&] {
        const Routes routes = found(links, problem, 4, 20000, 1000);
        return lists_of(problem, routes, schedule(links, routes, 20000));
    };
    EXPECT_EQ(lists(), lists());
}

TEST(Synthesis, TheSearchImprovesTheConstructions) {
    Links links = equal_links(6);
    links.ports[5] = 10;
    const Problem problem = problem_of(Collective::allreduce, 6);
    constexpr double bytes = 1 << 17;
    double least = nowhere;
    for (const Routes& routes : constructions(links, problem, 8, bytes))
        least = std::min(least, schedule(links, routes, bytes).seconds);
    EXPECT_LT(schedule(links, found(links, problem, 8, bytes, 5000), bytes).seconds, least);
}

}  // namespace
}  // namespace lapwing::synthesis
