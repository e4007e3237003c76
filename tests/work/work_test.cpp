// Work is in proportion to what there is to do. It is counted, not timed: allocations and, where the code
// under test is compiled with -fsanitize-coverage=trace-pc (tests/CMakeLists.txt), the basic blocks that run.

#include <new>

#include "collectives/catalogue.hpp"
#include "collectives/problems.hpp"
#include "engines/host/engine.hpp"
#include "plan/planner.hpp"
#include "support/unit.hpp"
#include "task/builder.hpp"
#include "task/lowering.hpp"
#include "task/text.hpp"

namespace {

struct Work {
    std::uint64_t steps = 0;  // basic blocks that ran
    std::uint64_t bytes = 0;  // allocated, also those that were freed again
    std::uint64_t allocations = 0;
};
Work done;

}  // namespace

// Each basic block of the code under test calls this.
extern "C" void __sanitizer_cov_trace_pc();
extern "C" void __sanitizer_cov_trace_pc() {
    ++done.steps;
}

[[gnu::noinline]] void* operator new(std::size_t bytes) {
    done.bytes += bytes;
    ++done.allocations;
    if (void* memory = std::malloc(bytes != 0 ? bytes : 1)) return memory;
    throw std::bad_alloc();
}
[[gnu::noinline]] void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
    done.bytes += bytes;
    ++done.allocations;
    return std::malloc(bytes != 0 ? bytes : 1);
}
[[gnu::noinline]] void operator delete(void* memory) noexcept {
    std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept {
    std::free(memory);
}

namespace lapwing {
namespace {

template <typename Function>
Work work_of(Function function) {
    const Work before = done;
    function();
    return {done.steps - before.steps, done.bytes - before.bytes, done.allocations - before.allocations};
}

// One rank's view of a problem with as many ranks as nobody could build all lists of.
Problem large_problem(Collective collective, int ranks, int rank) {
    // Of a vector that algorithms cut there is something for each rank.
    const bool cut = collective == Collective::broadcast ||
                     (is_reduction(collective) && collective != Collective::reduce_scatter_block);
    Problem problem = problem_of(collective, ranks, 0, cut ? static_cast<std::uint64_t>(ranks) : 1);
    if (collective == Collective::barrier) problem.bytes = 0;
    if (!has_parts(collective)) return problem;
    const auto to_all = [&] {
        std::vector<Part> all;
        for (int peer = 0; peer < ranks; ++peer)
            all.push_back({peer, all.size() * problem.element_bytes(), problem.element_bytes()});
        return all;
    };
    const std::vector<Part> to_one = {{rank == 1 ? 2 : 1, 0, problem.element_bytes()}};
    Parts parts = {to_one, to_one};
    if (collective == Collective::gatherv) parts = {{{0, 0, 1}}, rank == 0 ? to_all() : std::vector<Part>()};
    if (collective == Collective::scatterv) parts = {rank == 0 ? to_all() : std::vector<Part>(), {{0, 0, 1}}};
    if (collective == Collective::allgatherv) parts = {{{rank, 0, 1}}, to_all()};
    if (collective == Collective::reduce_scatter) parts = {to_all(), {{rank, 0, problem.element_bytes()}}};
    if (collective == Collective::alltoallv) parts = {to_all(), to_all()};
    problem.parts = {parts};
    return problem;
}

// Hosts of 64 ranks.
std::shared_ptr<const Placement> hosts_of(int ranks) {
    std::vector<std::uint64_t> hosts(static_cast<std::size_t>(ranks));
    for (std::size_t rank = 0; rank < hosts.size(); ++rank) hosts[rank] = rank / 64;
    return placement_on_hosts(hosts);
}

// To choose an algorithm and to build one rank's list: in proportion to that rank's tasks, and to the blocks
// that it was told of. Gives back how many tasks there are.
std::size_t expect_little_work(const Algorithm& algorithm, const Problem& problem, int rank) {
    const Choice choice{&algorithm, default_parameters(algorithm)};
    bool applies = false;
    const Work choosing = work_of([&] {
        applies = static_cast<bool>(algorithm.applies(problem, choice.parameters));
        if (applies) static_cast<void>(algorithm.cost(problem, choice.parameters, {}));
    });
    List list;
    const Work building = work_of([&] {
        if (applies) list = build(problem, rank, choice);
    });
    const std::size_t parts =
        problem.parts.empty() ? 0
                              : problem.parts.front().sends.size() + problem.parts.front().receives.size();
    SCOPED_TRACE(testing::Message() << name(algorithm.collective) << " " << algorithm.name << ", rank "
                                    << rank << " of " << problem.ranks << ", " << list.tasks.size()
                                    << " tasks, " << parts << " parts");
    EXPECT_LE(choosing.steps, 500 + 50 * parts);
    EXPECT_LE(choosing.bytes, 500 + 2 * sizeof(Task) * parts);
    EXPECT_LE(building.steps, 500 + 60 * (list.tasks.size() + parts));
    EXPECT_LE(building.bytes, 500 + 5 * sizeof(Task) * (list.tasks.size() + parts));
    EXPECT_EQ(building.steps > 0, applies && LAPWING_TEST_STEPS);
    return list.tasks.size();
}

TEST(Work, OfBuildingAListIsInProportionToItsTasks) {
    constexpr int few = 1 << 15;
    // What only lists of few tasks do for each rank would not show among fewer ranks.
    constexpr int many = 1 << 20;
    const auto hosts_of_few = hosts_of(few);
    const auto hosts_of_many = hosts_of(many);
    for (const Algorithm* algorithm : catalogue()) {
        // The root; the first rank of another host; one that is not the first; the last.
        for (const int rank : {0, 12352, 12345, few - 1}) {
            Problem problem = large_problem(algorithm->collective, few, rank);
            if (algorithm->knows_hosts) problem.placement = hosts_of_few;
            if (expect_little_work(*algorithm, problem, rank) > 12'000) continue;
            problem = large_problem(algorithm->collective, many, rank);
            if (algorithm->knows_hosts) problem.placement = hosts_of_many;
            expect_little_work(*algorithm, problem, rank);
        }
    }
}

// All messages are complete at once.
class NoLink final : public Link {
  public:
    void send(int, const std::byte*, std::uint64_t, std::uint32_t, Transfer&) override {}
    void recv(int, std::byte*, std::uint64_t, std::uint32_t, Transfer&) override {}
    bool test(Transfer&) override { return true; }
};

// The same problem with another size.
Problem resized(Problem problem, std::uint64_t by) {
    by *= is_reduction(problem.collective) ? problem.element_bytes() : 1;
    for (Parts& parts : problem.parts) {
        if (!parts.sends.empty()) parts.sends.back().bytes += by;
        if (!parts.receives.empty()) parts.receives.back().bytes += by;
    }
    if (!has_parts(problem.collective)) problem.bytes += by;
    return problem;
}

// Planners that keep as many plans as they may.
class NewShapes : public testing::Test {
  protected:
    std::unique_ptr<Planner> full_planner(const Problem& problem) {
        const std::vector<EngineOfGroup> engines = {
            {&host_engine(), [this] { return open_host_group(link_); }}};
        auto planner = std::make_unique<Planner>(1, engines, options_);
        for (std::uint64_t i = 0; i <= Planner::max_plans; ++i) planner->plan(resized(problem, i));
        return planner;
    }

    PlanOptions options_;

  private:
    NoLink link_;
};

// Choosing the algorithm and the engine, building the list and preparing it.
TEST_F(NewShapes, HaveAPlanByWorkInProportionToTheirLists) {
    for (const Collective collective : all_collectives()) {
        if (collective == Collective::barrier) continue;  // has one shape
        for (const int ranks : {4, 64, 1024}) {
            const Problem problem = large_problem(collective, ranks, 1);
            const auto planner = full_planner(problem);
            const Problem next = resized(problem, Planner::max_plans + 1);
            const Plan* plan = nullptr;
            const Work planning = work_of([&] { plan = &planner->plan(next); });
            const std::size_t parts =
                next.parts.empty() ? 0 : next.parts.front().sends.size() + next.parts.front().receives.size();
            SCOPED_TRACE(testing::Message() << name(collective) << " " << plan->choice.algorithm->name << ", "
                                            << ranks << " ranks, " << plan->tasks << " tasks");
            // The list's tasks grow where their number is not known beforehand; algorithms note a few things.
            EXPECT_LE(planning.allocations, 18);
            EXPECT_LE(planning.bytes, 600 + 4 * sizeof(Task) * (plan->tasks + parts));
        }
    }
}

TEST_F(NewShapes, ShareTheMemoryOfTheirRuns) {
    constexpr std::uint64_t bytes = 4096;
    const Problem problem{.collective = Collective::alltoall, .ranks = 24, .bytes = bytes};
    options_.requested = RequestedAlgorithms::parse("ialltoall=bruck");  // which has scratch memory
    const auto planner = full_planner(problem);
    std::vector<std::byte> in(48 * bytes);
    std::vector<std::byte> out(48 * bytes);
    const auto run = [&](std::uint64_t larger_by) {
        Plan& plan = planner->plan(resized(problem, larger_by));
        EXPECT_STREQ(plan.choice.algorithm->name, "bruck");
        Operation* const operation = plan.prepared->start({.in = in.data(), .out = out.data()}, 0);
        EXPECT_TRUE(plan.prepared->test(operation));
    };
    run(1000);
    EXPECT_LE(work_of([&] { run(999); }).bytes, 24 * bytes);
    // Rising sizes rarely need more.
    std::uint64_t grown = 0;
    for (std::uint64_t i = 1001; i < 1101; ++i)
        if (work_of([&] { run(i); }).bytes > 24 * bytes) ++grown;
    EXPECT_LE(grown, 1U);
}

TEST(Work, OfLoweringIsInProportionToTheList) {
    constexpr int peers = 100'000;
    Problem problem;
    problem.ranks = peers + 1;
    Builder builder(problem, 0);
    for (int peer = 1; peer <= peers; ++peer) {
        builder.recv(peer);
        builder.wait(peer);
    }
    const List list = builder.finish();
    Queues queues;
    const Work lowering = work_of([&] { queues = lower(list); });
    EXPECT_EQ(queues.peers.size(), std::size_t{peers});
    EXPECT_LE(lowering.steps, 60 * list.tasks.size());
    EXPECT_LE(lowering.bytes, 10 * sizeof(Task) * list.tasks.size());
    EXPECT_EQ(lowering.steps > 0, LAPWING_TEST_STEPS);
}

TEST(Work, OfParsingPartsIsInProportionToTheText) {
    constexpr int ranks = 100'000;
    std::string parts = "parts 0 sends";
    for (int rank = 1; rank < ranks; ++rank) parts += " " + std::to_string(rank) + ":0+8";
    parts += "\n";
    for (int rank = 1; rank < ranks; ++rank) parts += "parts " + std::to_string(rank) + " receives 0:0+8\n";
    const auto expect_fault = [&](const std::string& text, const std::string& why) {
        std::string fault;
        const Work parsing = work_of([&] {
            try {
                parse(text);
            } catch (const Error& error) {
                fault = error.what();
            }
        });
        EXPECT_NE(fault.find(why), std::string::npos) << fault;
        EXPECT_LE(parsing.steps, 60 * text.size());
        EXPECT_LE(parsing.bytes, 60 * text.size());
        EXPECT_EQ(parsing.steps > 0, LAPWING_TEST_STEPS);
    };
    expect_fault("problem neighbor_allgather ranks 100000\n" + parts + "list 0 in 8 out 0 scratch 0\nend\n",
                 "list of rank 1 is missing");
    expect_fault("problem gatherv ranks 100000 root 0\n" + parts,
                 "gatherv: the sends of rank 0 must be with rank 0 only");
}

}  // namespace
}  // namespace lapwing
