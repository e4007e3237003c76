// Every engine runs every algorithm over the MPI's point-to-point, and the result is compared with that of
// the MPI's own blocking collective.
#include <gtest/gtest.h>
#include <mpi.h>

#include <deque>
#include <numeric>
#include <random>
#include <vector>

#include "collectives/catalogue.hpp"
#include "engines/catalogue.hpp"
#include "engines/kernel/engine.hpp"
#include "links/host_mpi.hpp"
#include "links/tcp.hpp"

namespace lapwing {
namespace {

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

using Bytes = std::vector<std::byte>;

Bytes random_bytes(std::uint64_t size, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    Bytes bytes(size);
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
    return bytes;
}

// The out of this rank as the MPI's blocking collective makes it.
Bytes expected(const Problem& problem, const Bytes& in, Bytes out) {
    const int bytes = static_cast<int>(problem.bytes);
    const bool is_root = world_rank() == problem.root;
    switch (problem.collective) {
        case Collective::barrier:
            PMPI_Barrier(MPI_COMM_WORLD);
            break;
        case Collective::broadcast: {
            Bytes buffer = is_root ? in : out;
            PMPI_Bcast(buffer.data(), bytes, MPI_BYTE, problem.root, MPI_COMM_WORLD);
            if (!is_root) out = buffer;
            break;
        }
        case Collective::gather:
            PMPI_Gather(is_root && problem.in_place ? MPI_IN_PLACE : in.data(), bytes, MPI_BYTE, out.data(),
                        bytes, MPI_BYTE, problem.root, MPI_COMM_WORLD);
            break;
        case Collective::alltoall:
            PMPI_Alltoall(in.data(), bytes, MPI_BYTE, out.data(), bytes, MPI_BYTE, MPI_COMM_WORLD);
            break;
        default:
            ADD_FAILURE() << "no MPI function for " << name(problem.collective);
    }
    return out;
}

class EngineTest : public testing::Test {
  protected:
    static void SetUpTestSuite() {
        link = new HostMpiLink;
        link->begin(MPI_COMM_WORLD);
        while (!link->ready()) {
        }
        ground.messages = link;
        if (!kernel_engine().available()) return;
        endpoint = new tcp::Endpoint({});
        tcp::Key key = tcp::random_key();
        MPI_Bcast(key.data(), static_cast<int>(key.size()), MPI_BYTE, 0, MPI_COMM_WORLD);
        const tcp::Address mine = endpoint->address();
        std::vector<tcp::Address> all(static_cast<std::size_t>(world_size()));
        MPI_Allgather(&mine, sizeof mine, MPI_BYTE, all.data(), sizeof mine, MPI_BYTE, MPI_COMM_WORLD);
        endpoint->admit(key, all, world_rank());
        std::vector<int> members(all.size());
        std::iota(members.begin(), members.end(), 0);
        connections = endpoint->group(1, members, world_rank(), 2).release();
        ground.connections = connections;
    }
    static void TearDownTestSuite() {
        // What one rank has sent, another may not have read yet.
        MPI_Barrier(MPI_COMM_WORLD);
        ground = {};
        delete connections;
        delete endpoint;
        link->free();
        delete link;
    }
    static HostMpiLink* link;
    static tcp::Endpoint* endpoint;
    static Connections* connections;
    static Ground ground;
};
HostMpiLink* EngineTest::link = nullptr;
tcp::Endpoint* EngineTest::endpoint = nullptr;
Connections* EngineTest::connections = nullptr;
Ground EngineTest::ground;

struct Running {
    Bytes in;
    Bytes out;
    Bytes right;
    Operation* operation = nullptr;
};

TEST_F(EngineTest, EveryAlgorithmGivesWhatTheBlockingCollectiveGives) {
    const int ranks = world_size();
    const int rank = world_rank();
    std::uint32_t channel = 0;
    std::uint64_t seed = 1;
    for (const Engine* engine : engines()) {
        if (!engine->available() || !engine->stands_on(ground)) continue;
        for (const Algorithm* algorithm : catalogue()) {
            Choice choice{algorithm, usual_parameters(*algorithm)};
            for (const std::uint64_t bytes : {0U, 1U, 13U, 4096U, 100'003U}) {
                for (int root = 0; root < (has_root(algorithm->collective) ? ranks : 1); ++root) {
                    for (const bool in_place : {false, true}) {
                        Problem problem{.collective = algorithm->collective, .ranks = ranks, .root = root};
                        if (problem.collective != Collective::barrier) problem.bytes = bytes;
                        if (problem.collective != Collective::gather && in_place) continue;
                        problem.in_place = in_place;
                        if (!algorithm->applies(problem, choice.parameters)) continue;
                        const List list = build(problem, rank, choice);
                        ASSERT_TRUE(engine->supports(list));
                        const auto prepared = engine->prepare(list, ground);
                        // Three runs of one plan in flight together, completed the last one first.
                        std::deque<Running> runs;
                        for (int i = 0; i < 3; ++i) {
                            Running run;
                            run.in = random_bytes(in_bytes(problem, rank),
                                                  ++seed * 1000 + static_cast<unsigned>(rank));
                            run.out = random_bytes(out_bytes(problem, rank), seed * 7);
                            run.right = expected(problem, run.in, run.out);
                            runs.push_back(std::move(run));
                        }
                        for (Running& run : runs) {
                            run.operation = prepared->start({run.in.data(), run.out.data()}, channel++);
                        }
                        for (std::size_t i = runs.size(); i-- > 0;) {
                            // All ranks wait in the same order here, so one after the other will do.
                            wait(*prepared, runs[i].operation);
                            EXPECT_TRUE(runs[i].out == runs[i].right)
                                << engine->name() << ", " << name(problem.collective) << " " << print(choice)
                                << ", " << bytes << " bytes, root " << root;
                        }
                    }
                }
            }
        }
    }
}

}  // namespace
}  // namespace lapwing
