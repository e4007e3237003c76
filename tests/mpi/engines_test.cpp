// Every engine runs every algorithm between the ranks of a real job, over the MPI's point-to-point and over
// sockets; what must come out is computed from the problem. (drop_in and fuzz compare with the MPI.)
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <mpi.h>

#include <deque>
#include <numeric>
#include <string>
#include <vector>

#include "collectives/catalogue.hpp"
#include "engines/catalogue.hpp"
#include "engines/expected.hpp"
#include "links/mpi/mpi_link.hpp"
#include "links/mpi/own_communicator.hpp"
#include "mpi/job/mpi_job.hpp"
#include "support/complete.hpp"
#include "support/engines.hpp"
#include "task/sample.hpp"
#include "task/text.hpp"

namespace lapwing {
namespace {

using namespace testing_engines;

int world_rank() {
    int rank = 0;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    return rank;
}
int world_size() {
    int size = 0;
    PMPI_Comm_size(MPI_COMM_WORLD, &size);
    return size;
}

// The job of MPI_COMM_WORLD, and a link over its MPI.
class EngineTest : public testing::Test {
  protected:
    static void SetUpTestSuite() {
        make_own_communicator();
        job = new MpiJob(read_settings(environ));
        std::vector<int> members(static_cast<std::size_t>(world_size()));
        std::iota(members.begin(), members.end(), 0);
        std::vector<std::uint32_t> slots(members.size(), MessageSlots::of_all);
        link = new MpiLink(job->communicator(), std::move(members), std::move(slots), world_rank());
    }
    static void TearDownTestSuite() {
        delete link;
        delete job;
    }
    static MpiJob* job;
    static MpiLink* link;
};
MpiJob* EngineTest::job = nullptr;
MpiLink* EngineTest::link = nullptr;

struct Running {
    Bytes in;
    Bytes out;
    Operation* operation = nullptr;
};

// Three runs of one plan in flight together, completed the last one first.
void run_thrice(const Engine& engine, const Problem& problem, const Choice& choice, GroupEngine& group) {
    static std::uint32_t channel = 0;
    const int rank = world_rank();
    const List list = build(problem, rank, choice);
    ASSERT_TRUE(engine.supports(list));
    EXPECT_TRUE(group.admit(problem, [&](int one) { return build(problem, one, choice); }, {}));
    const auto prepared = group.prepare(problem, list, {});
    Composition composition;
    std::deque<Running> runs;
    for (int i = 0; i < 3; ++i) runs.push_back({in_of(problem, rank, i), out_before(problem, rank, i)});
    for (Running& run : runs) {
        run.operation = prepared->start({run.in.data(), run.out.data(), &composition}, channel++);
    }
    for (std::size_t i = runs.size(); i-- > 0;) {
        // All ranks wait in the same order here, so one after the other will do.
        wait(*prepared, runs[i].operation);
        const Bytes& out = runs[i].out;
        EXPECT_TRUE(out == out_after(problem, rank, static_cast<int>(i), out))
            << engine.name() << ", " << print(problem) << " " << print(choice);
    }
}

// Two forms of the problem for each size, and others for the next one; those that the algorithm declines do
// not count. Of an engine whose network works in software, one form and one size: it takes long. Gives back
// how many there were.
int run_forms(const Engine& engine, const Algorithm& algorithm, GroupEngine& group, std::size_t& turn) {
    const int forms = engine.only_by_name() ? 1 : 2;
    std::vector<std::uint64_t> sizes = {0, 8, 1000, 100'000};
    if (engine.only_by_name()) sizes = {turn % 2 == 0 ? 8U : 1000U};
    const Choice choice{&algorithm, default_parameters(algorithm)};
    const auto sample = algorithm.knows_hosts ? sample_problems_on_hosts : sample_problems;
    int all = 0;
    for (const std::uint64_t bytes : sizes) {
        const auto problems = sample(algorithm.collective, world_size(), bytes);
        int taken = 0;
        for (std::size_t i = 0; i < problems.size() && taken < forms; ++i) {
            const Problem& problem = problems[turn++ % problems.size()];
            if (!algorithm.applies(problem, choice.parameters)) continue;
            const auto list_of = [&](int rank) { return build(problem, rank, choice); };
            if (!engine.supports_all(problem, list_of) || !group.admit(problem, list_of, {})) continue;
            run_thrice(engine, problem, choice, group);
            ++taken;
        }
        all += taken;
    }
    return all;
}

void run_every_algorithm(const Engine& engine, Job& job, Link& link) {
    LAPWING_NEEDS_ENGINE(engine);
    const auto opened = engine.open(job);
    EngineGroup all{.rank = job.rank(), .messages = &link};
    for (int rank = 0; rank < job.ranks(); ++rank) all.members.push_back(rank);
    const auto group = opened->open(all, opened->reserve(job.ranks()));
    std::size_t turn = 0;
    int forms = 0;
    std::string declined;
    for (const Algorithm* algorithm : catalogue()) {
        const int taken = run_forms(engine, *algorithm, *group, turn);
        forms += taken;
        if (taken > 0) continue;
        declined += fmt::format(" {}:{}", name(algorithm->collective), algorithm->name);
        // Two ranks never share a host with others beside it.
        EXPECT_FALSE(algorithm->knows_hosts && world_size() > 2 && !engine.only_by_name()) << declined;
    }
    if (world_rank() == 0) {
        fmt::print("{}: {} problems; declined, or for other numbers of ranks:{}\n", engine.name(), forms,
                   declined.empty() ? " none" : declined);
    }
    // What one rank has sent, another may not have read yet.
    MPI_Barrier(MPI_COMM_WORLD);
}

class EveryEngine : public EngineTest, public testing::WithParamInterface<const Engine*> {};

TEST_P(EveryEngine, RunsEveryAlgorithm) {
    run_every_algorithm(*GetParam(), *job, *link);
}

INSTANTIATE_TEST_SUITE_P(Engines, EveryEngine, testing::ValuesIn(engines().begin(), engines().end()),
                         [](const auto& engine) { return std::string(engine.param->name()); });

}  // namespace
}  // namespace lapwing
