// Problems on ranks that are placed on hosts at random, by the host engine and by the kernel engine, over
// shared memory inside the hosts, with each transfer method and each way of progress. At the same time the
// ranks of each host have a group of their own. The expected results are computed from the problem alone.

#include "collectives/catalogue.hpp"
#include "engines/host/engine.hpp"
#include "engines/kernel/ranks.hpp"
#include "engines/ranks.hpp"
#include "engines/shm_hosts.hpp"
#include "links/routed.hpp"
#include "links/socket_pairs.hpp"
#include "support/engines.hpp"
#include "support/process_link.hpp"
#include "support/unit.hpp"
#include "task/chains.hpp"
#include "task/sample.hpp"
#include "task/text.hpp"

namespace lapwing {
namespace {

using namespace testing_engines;

constexpr int runs_of_group = 2;

struct GroupTask {
    Problem problem;
    Choice choice;
};

template <typename Entries>
auto& one_of(Entries& entries, std::mt19937& random) {
    return entries[random() % std::size(entries)];
}

GroupTask draw(int ranks, std::mt19937& random, const std::shared_ptr<const Placement>& placement) {
    constexpr std::uint64_t lengths[] = {8, 600, 20000, LAPWING_TEST_FEWER ? 40000 : 200000};
    const auto algorithms = catalogue();
    for (;;) {
        const Algorithm* const algorithm = one_of(algorithms, random);
        const auto problems = sample_problems(algorithm->collective, ranks, one_of(lengths, random));
        GroupTask task{one_of(problems, random), {algorithm, default_parameters(*algorithm)}};
        task.problem.placement = placement;
        if (algorithm->applies(task.problem, task.choice.parameters)) return task;
    }
}

std::unique_ptr<RankRuns> runs_of(std::unique_ptr<GroupEngine> group, const GroupTask& task, int rank) {
    return std::make_unique<RankRuns>(
        task.problem, rank, group->prepare(task.problem, build(task.problem, rank, task.choice), {}));
}

// The groups are all ranks, once for each engine, and the ranks of each host.
void run_job(unsigned seed, const std::vector<Manner>& choices) {
    std::mt19937 random(seed);
    const int ranks = 2 + static_cast<int>(random() % (LAPWING_TEST_FEWER ? 4 : 6));
    const int hosts = 1 + static_cast<int>(random() % 3);
    std::vector<int> host_of;
    std::vector<Manner> manner_of;
    for (int rank = 0; rank < ranks; ++rank) {
        host_of.push_back(static_cast<int>(random()) & 1 && rank > 0
                              ? host_of.back()
                              : static_cast<int>(random() % 3) % hosts);
        manner_of.push_back(one_of(choices, random));
    }
    const auto placement = placement_on_hosts(std::vector<std::uint64_t>(host_of.begin(), host_of.end()));
    const bool one_host = std::all_of(host_of.begin(), host_of.end(), [&](int h) { return h == host_of[0]; });
    const GroupTask for_host_engine = draw(ranks, random, placement);
    const GroupTask for_kernel_engine = draw(ranks, random, placement);
    std::vector<GroupTask> inside;
    for (int host = 0; host < 3; ++host) {
        const auto members = static_cast<int>(std::count(host_of.begin(), host_of.end(), host));
        inside.push_back(draw(std::max(1, members), random, nullptr));
    }
    SCOPED_TRACE("seed " + std::to_string(seed) + ": " + print(for_host_engine.problem) + "; " +
                 print(for_kernel_engine.problem));
    ShmHosts shared(host_of, manner_of);
    const auto inter_node = process_links(ranks, seed % 2 == 0);
    const auto connections = socket_pairs(ranks, 2, seed % 3 == 0 ? 2048 : 0);
    const bool has_kernel = bool(kernel_engine().available());

    on_ranks(ranks, [&](int rank, std::barrier<>&) {
        const auto at = static_cast<std::size_t>(rank);
        std::vector<int> all(static_cast<std::size_t>(ranks));
        std::iota(all.begin(), all.end(), 0);
        const std::vector<int> members = shared.ranks_with(rank);
        shm::ShmNode& node = shared.node(rank);
        const auto own = node.link(static_cast<std::uint64_t>(10 + host_of[at]), members);
        const auto intra_node = node.link(1, all);
        const auto intra_node_of_kernel = node.link(2, all);
        RoutedLink routed(*intra_node, *inter_node[at], intra_node_peers(host_of, rank));
        ProgressThread* const progress_thread = shared.progress_thread(rank);
        Link* const messages = one_host ? intra_node.get() : &routed;
        const auto in_own =
            static_cast<int>(std::find(members.begin(), members.end(), rank) - members.begin());
        std::vector<std::unique_ptr<RankRuns>> groups;
        groups.push_back(runs_of(open_host_group(*own, progress_thread),
                                 inside[static_cast<std::size_t>(host_of[at])], in_own));
        groups.push_back(runs_of(open_host_group(*messages, progress_thread), for_host_engine, rank));
        if (has_kernel) {
            const kernel::Options options{
                .event_thread_lists = progress_thread != nullptr ? ProgressLists::all : ProgressLists::none};
            auto by_kernel = one_host
                                 ? open_kernel_group(*connections[at])
                                 : open_kernel_group(*connections[at], options, intra_node_of_kernel.get(),
                                                     intra_node_peers(host_of, rank), progress_thread);
            groups.push_back(runs_of(std::move(by_kernel), for_kernel_engine, rank));
        }
        std::mt19937 own_random(seed * 100 + static_cast<unsigned>(rank));
        std::vector<std::size_t> order;
        for (std::size_t group = 0; group < groups.size(); ++group)
            order.insert(order.end(), runs_of_group, group);
        std::shuffle(order.begin(), order.end(), own_random);
        for (const std::size_t group : order) groups[group]->start();
        for (bool done = false; !done; std::this_thread::yield()) {
            done = true;
            for (const auto& group : groups) done = group->test_one(own_random) && done;
        }
        for (const auto& group : groups) EXPECT_TRUE(group->right()) << "rank " << rank;
    });
}

// Two hosts of two ranks. After the start, threads of the engine do everything.
TEST(KernelOverSharedMemory, ShortReductionsCompleteWithoutCalls) {
    LAPWING_NEEDS_ENGINE(kernel_engine());
    const std::vector<int> host_of = {0, 0, 1, 1};
    const auto placement = placement_on_hosts(std::vector<std::uint64_t>(host_of.begin(), host_of.end()));
    for (const char* algorithm : {"recursive_doubling", "two_level"}) {
        ShmHosts shared(host_of, std::vector<Manner>(4));
        const auto connections = socket_pairs(4, 2);
        on_ranks(4, [&](int rank, std::barrier<>& together) {
            const Problem problem{
                .collective = Collective::allreduce, .ranks = 4, .bytes = 600, .placement = placement};
            const Choice choice = parse_choice(problem.collective, algorithm);
            const auto link = shared.node(rank).link(1, {0, 1, 2, 3});
            ProgressThread progress_thread(&shared.node(rank), nullptr, nullptr, {},
                                           ProgressThread::Start::when_needed);
            const auto group = open_kernel_group(*connections[static_cast<std::size_t>(rank)],
                                                 {.event_thread_lists = ProgressLists::all}, link.get(),
                                                 intra_node_peers(host_of, rank), &progress_thread);
            RankRuns runs(problem, rank, group->prepare(problem, build(problem, rank, choice), {}));
            for (int i = 0; i < (LAPWING_TEST_FEWER ? 10 : 50); ++i) {
                runs.start();
                // Ranks that are no leaders do not reduce: their result waits in the shared memory.
                const bool reduces = choice.algorithm->name != std::string_view("two_level") || rank % 2 == 0;
                EXPECT_EQ(progress_thread.started(), reduces);
                EXPECT_TRUE(!reduces || runs.becomes_right()) << algorithm << ", rank " << rank;
                together.arrive_and_wait();
                runs.wait_all();
            }
        });
    }
}

class Placements : public testing::TestWithParam<Manner> {};

TEST_P(Placements, AllEnginesHaveTheSameResults) {
    for (unsigned seed = 0; seed < (LAPWING_TEST_FEWER ? 6 : 16); ++seed) run_job(seed, {GetParam()});
}

INSTANTIATE_TEST_SUITE_P(Manners, Placements, testing::ValuesIn(manners),
                         [](const auto& manner) { return name_of(manner.param); });

// Each rank has its own.
TEST(PlacementsOfAllManners, AllEnginesHaveTheSameResults) {
    const std::vector<Manner> all(std::begin(manners), std::end(manners));
    for (unsigned seed = 100; seed < (LAPWING_TEST_FEWER ? 106U : 120U); ++seed) run_job(seed, all);
}

}  // namespace
}  // namespace lapwing
