// Every engine runs every algorithm, with ranks as threads of one process: many runs in flight, tested in
// random order, with sends that are buffered and sends that are not. The results are computed from the
// problem alone.
#include <gtest/gtest.h>

#include <random>
#include <thread>

#include "base/error.hpp"
#include "collectives/catalogue.hpp"
#include "engines/catalogue.hpp"
#include "expected.hpp"
#include "links/process.hpp"
#include "links/socket_pairs.hpp"
#include "task/text.hpp"

namespace lapwing {
namespace {

using namespace testing_engines;

constexpr int runs = 4;

// One rank: starts all its runs, tests them in random order until all are complete.
void run_rank(const Engine& engine, const Problem& problem, const Choice& choice, int rank,
              const Ground& ground, unsigned seed, std::string& wrong) {
    try {
        const auto prepared = engine.prepare(build(problem, rank, choice), ground);
        std::vector<std::vector<std::byte>> in;
        std::vector<std::vector<std::byte>> out;
        std::vector<Operation*> operations;
        for (int run = 0; run < runs; ++run) {
            in.push_back(in_of(problem, rank, run));
            out.emplace_back(out_bytes(problem, rank), untouched);
        }
        for (std::size_t run = 0; run < runs; ++run) {
            operations.push_back(
                prepared->start({in[run].data(), out[run].data()}, static_cast<std::uint32_t>(run)));
        }
        std::mt19937 random(seed);
        for (int left = runs; left > 0;) {
            Operation*& operation = operations[random() % runs];
            if (operation == nullptr) continue;
            if (prepared->test(operation)) {
                operation = nullptr;
                --left;
            } else {
                std::this_thread::yield();
            }
        }
        for (int run = 0; run < runs; ++run) {
            if (out[static_cast<std::size_t>(run)] != out_of(problem, rank, run)) {
                wrong = print(problem) + " " + print(choice) + ": rank " + std::to_string(rank) +
                        " has wrong bytes";
            }
        }
    } catch (const Error& error) {
        wrong = error.what();
    }
}

void run_all(const Engine& engine, const Problem& problem, const Choice& choice, bool buffered,
             unsigned seed) {
    // Sockets that hold little make sends wait in their middle.
    const auto links = process_links(problem.ranks, buffered);
    const auto connections = socket_pairs(problem.ranks, 2, buffered ? 0 : 2048);
    std::vector<std::string> wrong(static_cast<std::size_t>(problem.ranks));
    std::vector<std::thread> ranks;
    for (int rank = 0; rank < problem.ranks; ++rank) {
        const std::size_t at = static_cast<std::size_t>(rank);
        ranks.emplace_back([&, rank, at] {
            const Ground ground{.messages = links[at].get(), .connections = connections[at].get()};
            run_rank(engine, problem, choice, rank, ground, seed + static_cast<unsigned>(rank), wrong[at]);
        });
    }
    for (std::thread& rank : ranks) rank.join();
    for (const std::string& message : wrong) EXPECT_EQ(message, "");
}

TEST(Engines, EveryAlgorithmOnEveryEngine) {
    unsigned seed = 1;
    for (const Engine* engine : engines()) {
        if (!engine->available()) continue;
        for (const Algorithm* algorithm : catalogue()) {
            const Choice choice{algorithm, usual_parameters(*algorithm)};
            for (const int ranks : {1, 2, 3, 4, 7}) {
                for (const std::uint64_t bytes : {1U, 1000U, 30000U}) {
                    for (const bool buffered : {true, false}) {
                        Problem problem{.collective = algorithm->collective, .ranks = ranks};
                        if (has_root(problem.collective)) problem.root = static_cast<int>(seed) % ranks;
                        if (problem.collective != Collective::barrier) problem.bytes = bytes;
                        problem.in_place = problem.collective == Collective::gather && seed % 3 == 0;
                        run_all(*engine, problem, choice, buffered, seed++);
                    }
                }
            }
        }
    }
}

TEST(EngineCatalogue, NamesTheNearest) {
    EXPECT_STREQ(find_engine("host").name(), "host");
    EXPECT_THROW(find_engine("hots"), Error);
}

}  // namespace
}  // namespace lapwing
