// Every engine runs every algorithm, with ranks as threads of one process: many runs in flight, tested in
// random order, with sends that are buffered and sends that are not. The results are computed from the
// problem alone.
#include <gtest/gtest.h>

#include <random>
#include <thread>

#include "base/error.hpp"
#include "collectives/catalogue.hpp"
#include "engines/catalogue.hpp"
#include "links/process.hpp"
#include "task/text.hpp"

namespace lapwing {
namespace {

// Byte `i` of the in of `rank` in run `run`.
std::byte in_byte(int rank, std::uint64_t i, int run) {
    return static_cast<std::byte>(rank * 37 + static_cast<int>(i % 251) * 5 + run * 11 +
                                  static_cast<int>(i / 251));
}
constexpr std::byte untouched{0xa5};

std::vector<std::byte> in_of(const Problem& problem, int rank, int run) {
    std::vector<std::byte> in(in_bytes(problem, rank));
    for (std::uint64_t i = 0; i < in.size(); ++i) in[i] = in_byte(rank, i, run);
    return in;
}

std::vector<std::byte> out_of(const Problem& problem, int rank, int run) {
    std::vector<std::byte> out(out_bytes(problem, rank), untouched);
    for (std::uint64_t i = 0; i < out.size(); ++i) {
        const int block = problem.bytes == 0 ? 0 : static_cast<int>(i / problem.bytes);
        const std::uint64_t at = problem.bytes == 0 ? 0 : i % problem.bytes;
        switch (problem.collective) {
            case Collective::broadcast:
                out[i] = in_byte(problem.root, i, run);
                break;
            case Collective::gather:
                if (!problem.in_place || block != problem.root) out[i] = in_byte(block, at, run);
                break;
            case Collective::alltoall:
                out[i] = in_byte(block, static_cast<std::uint64_t>(rank) * problem.bytes + at, run);
                break;
            default:
                break;
        }
    }
    return out;
}

constexpr int runs = 4;

// One rank: starts all its runs, tests them in random order until all are complete.
void run_rank(const Engine& engine, const Problem& problem, const Choice& choice, int rank, Link& link,
              unsigned seed, std::string& wrong) {
    try {
        const auto prepared = engine.prepare(build(problem, rank, choice), {.messages = &link});
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
    const auto links = process_links(problem.ranks, buffered);
    std::vector<std::string> wrong(static_cast<std::size_t>(problem.ranks));
    std::vector<std::thread> ranks;
    for (int rank = 0; rank < problem.ranks; ++rank) {
        const std::size_t at = static_cast<std::size_t>(rank);
        ranks.emplace_back([&, rank, at] {
            run_rank(engine, problem, choice, rank, *links[at], seed + static_cast<unsigned>(rank),
                     wrong[at]);
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
                for (const std::uint64_t bytes : {1U, 1000U}) {
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

TEST(HostEngine, Reduces) {
    // Rank 0 and 1 exchange and add; the sum of one float64 and the order of a list's own spaces.
    const ListSet set = parse(
        "problem allreduce ranks 2 bytes 8 op sum type float64\n"
        "list 0 in 8 out 8 scratch 0\n"
        "  recv 1 out[0+8]\n"
        "  send 1 in[0+8]\n"
        "  wait 1 1\n"
        "  reduce sum float64 out[0+8] in[0+8]\n"
        "end\n"
        "list 1 in 8 out 8 scratch 0\n"
        "  recv 0 out[0+8]\n"
        "  send 0 in[0+8]\n"
        "  wait 0 1\n"
        "  reduce sum float64 out[0+8] in[0+8]\n"
        "end\n");
    const auto links = process_links(2, true);
    const double in[2] = {1.5, 2.25};
    double out[2] = {};
    std::unique_ptr<Prepared> prepared[2];
    Operation* operations[2];
    for (std::size_t rank = 0; rank < 2; ++rank) {
        prepared[rank] = engines().front()->prepare(set.lists[rank], {.messages = links[rank].get()});
        operations[rank] = prepared[rank]->start(
            {reinterpret_cast<const std::byte*>(&in[rank]), reinterpret_cast<std::byte*>(&out[rank])}, 0);
    }
    for (std::size_t rank = 0; rank < 2; ++rank) wait(*prepared[rank], operations[rank]);
    EXPECT_EQ(out[0], 3.75);
    EXPECT_EQ(out[1], 3.75);
}

TEST(HostEngine, ALinkThatFailsIsAnErrorOfTheRun) {
    const auto links = process_links(2, true);
    const ListSet set = parse(
        "problem broadcast ranks 2 root 0 bytes 8\n"
        "list 0 in 8 out 0 scratch 0\n  send 1 in[0+8]\nend\n"
        "list 1 in 0 out 8 scratch 0\n  recv 0 out[0+4]\n  wait 0 1\nend\n");
    std::byte data[8]{};
    const auto root = engines().front()->prepare(set.lists[0], {.messages = links[0].get()});
    const auto other = engines().front()->prepare(set.lists[1], {.messages = links[1].get()});
    wait(*root, root->start({data, nullptr}, 0));
    Operation* operation = other->start({nullptr, data}, 0);
    EXPECT_THROW(wait(*other, operation), Error);
    // Another run of the same plan is not affected.
    EXPECT_NE(other->start({nullptr, data}, 1), operation);
}

TEST(HostEngine, RefusesQueues) {
    List list;
    list.tasks.emplace_back().kind = Kind::enable_send;
    const auto links = process_links(1, true);
    EXPECT_THROW(engines().front()->prepare(list, {.messages = links[0].get()}), Error);
}

TEST(EngineCatalogue, NamesTheNearest) {
    EXPECT_STREQ(find_engine("host").name(), "host");
    EXPECT_THROW(find_engine("hots"), Error);
}

}  // namespace
}  // namespace lapwing
