// The double of a ConnectX card over real queue pairs of Soft-RoCE: the conformance program, and algorithms
// of every sort by the mlx5 engine, in each variant of the work queues. Run by scripts/test-rdma, in its
// guest. WAIT, SEND_EN and all that counts completions is the double's, not a card's.
#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "collectives/catalogue.hpp"
#include "engines/doubles/mlx5/device.hpp"
#include "engines/doubles/mlx5/soft_roce.hpp"
#include "engines/expected.hpp"
#include "engines/mlx5/conformance.hpp"
#include "engines/mlx5/engine.hpp"
#include "engines/mlx5/work_queues.hpp"
#include "links/process/process_link.hpp"
#include "task/sample.hpp"
#include "task/text.hpp"

namespace lapwing {
namespace {

using namespace testing_engines;
using mlx5_double::DoubleDevice;
using mlx5_double::Drive;
using mlx5_double::Network;
using mlx5_double::Rules;
using Clock = std::chrono::steady_clock;

constexpr int count = 3;  // of ranks
constexpr int starts = 4;
constexpr auto longest = std::chrono::seconds(60);

bool conforms(std::uint64_t seed) {
    Rules rules;
    rules.seed = seed;
    rules.delay = static_cast<unsigned>(seed % 3);
    DoubleDevice device(Network::of_process(1), rules, Drive::thread, mlx5_double::open_soft_roce());
    const mlx5::ConformanceLimits patient{.max_wait = std::chrono::milliseconds(20000),
                                          .min_wait = std::chrono::milliseconds(20)};
    int passed = 0;
    int noted = 0;
    bool all = true;
    for (const mlx5::Answer& answer : mlx5::check_conformance(device, patient)) {
        passed += answer.outcome == mlx5::Outcome::passed ? 1 : 0;
        noted += answer.outcome == mlx5::Outcome::noted ? 1 : 0;
        if (answer.outcome == mlx5::Outcome::passed || answer.outcome == mlx5::Outcome::noted) continue;
        fmt::print("WRONG {}: {}: {}\n", answer.name, mlx5::print(answer.outcome), answer.found);
        all = false;
    }
    fmt::print("conformance, seed {}: {} passed, {} noted\n", seed, passed, noted);
    return all && passed > 15;
}

struct Rank {
    std::unique_ptr<DoubleDevice> card;
    std::unique_ptr<GroupEngine> group;
    std::unique_ptr<Prepared> prepared;
    Composition composition;
    std::vector<Bytes> in{starts}, out{starts};
    std::vector<Operation*> operations;
};

// Returns the fault that was found, or an empty string.
std::string run(const Problem& problem, const Choice& choice, const WorkVariant& variant,
                std::uint64_t seed) {
    Rules rules;
    rules.seed = seed;
    rules.delay = static_cast<unsigned>(seed % 3);
    rules.strict = variant.management;
    const auto network = Network::of_process(count);
    const auto links = process_links(count, true);
    std::vector<Rank> ranks(count);
    for (int rank = 0; rank < count; ++rank) {
        Rank& of = ranks[static_cast<std::size_t>(rank)];
        of.card =
            std::make_unique<DoubleDevice>(network, rules, Drive::thread, mlx5_double::open_soft_roce());
        of.group = open_mlx5_group(*of.card, *links[static_cast<std::size_t>(rank)], variant);
        const auto list_of = [&](int one) { return build(problem, one, choice); };
        if (!of.group->admit(problem, list_of, {})) return "it is declined";
        of.prepared = of.group->prepare(problem, list_of(rank), {});
    }
    for (int rank = 0; rank < count; ++rank) {
        Rank& of = ranks[static_cast<std::size_t>(rank)];
        for (int at = 0; at < starts; ++at) {
            const auto place = static_cast<std::size_t>(at);
            of.in[place] = in_of(problem, rank, at);
            of.out[place] = out_before(problem, rank, at);
            of.operations.push_back(
                of.prepared->start({of.in[place].data(), of.out[place].data(), &of.composition},
                                   static_cast<std::uint32_t>(at / 2)));
        }
    }
    const auto end = Clock::now() + longest;
    for (int left = count * starts; left > 0;) {
        if (Clock::now() > end) {
            std::string why = fmt::format("{} runs do not end", left);
            for (const Rank& of : ranks) {
                for (const std::string& refusal : of.card->card().refusals()) why += "; " + refusal;
                why += "\n" + of.card->card().describe();
            }
            return why;
        }
        for (Rank& of : ranks) {
            for (Operation*& operation : of.operations) {
                if (operation == nullptr || !of.prepared->test(operation)) continue;
                operation = nullptr;
                --left;
            }
        }
    }
    for (int rank = 0; rank < count; ++rank) {
        const Rank& of = ranks[static_cast<std::size_t>(rank)];
        if (!of.card->card().refusals().empty()) return of.card->card().refusals().front();
        for (int at = 0; at < starts; ++at) {
            const Bytes& now = of.out[static_cast<std::size_t>(at)];
            if (now != out_after(problem, rank, at, now)) return "wrong bytes";
        }
    }
    return "";
}

bool run_algorithms(const std::string& only, std::uint64_t seed) {
    const std::pair<Collective, const char*> all[] = {{Collective::barrier, "dissemination"},
                                                      {Collective::broadcast, "binomial"},
                                                      {Collective::alltoall, "pairwise:window=2"},
                                                      {Collective::allgather, "bruck"},
                                                      {Collective::gather, "flat"},
                                                      {Collective::allreduce, "recursive_doubling"}};
    bool right = true;
    for (const auto& [collective, algorithm] : all) {
        for (const WorkVariant& variant : work_variants()) {
            if (!only.empty() && variant.name != only) continue;
            // Copied buffers, and buffers that the queue pairs read and write.
            for (const std::uint64_t bytes : {24U, 50000U}) {
                const Problem problem = sample_problems(collective, count, bytes).front();
                std::string wrong;
                try {
                    wrong = run(problem, parse_choice(collective, algorithm), variant, seed++);
                } catch (const Error& error) {
                    wrong = error.what();
                }
                if (wrong.empty()) continue;
                right = false;
                fmt::print("WRONG {} {}, {}: {}\n", print(problem), algorithm, variant.name, wrong);
            }
        }
        fmt::print("{} {}: {}, 2 sizes, {} starts each\n", name(collective), algorithm,
                   only.empty() ? fmt::format("{} variants", work_variants().size()) : only, starts);
        std::fflush(stdout);
    }
    return right;
}

}  // namespace
}  // namespace lapwing

// soft_roce [VARIANT ROUNDS]: only the algorithms, in that variant, repeated: to find rare faults.
int main(int argc, char** argv) {
    try {
        bool right = true;
        if (argc == 3) {
            for (int round = 0; round < std::stoi(argv[2]); ++round)
                right =
                    lapwing::run_algorithms(argv[1], 1 + 100 * static_cast<std::uint64_t>(round)) && right;
            return right ? 0 : 1;
        }
        for (const std::uint64_t seed : {1U, 2U}) right = lapwing::conforms(seed) && right;
        right = lapwing::run_algorithms("", 1) && right;
        return right ? 0 : 1;
    } catch (const lapwing::Error& error) {
        fmt::print("out of reach: {}\n", error.what());
        return 1;
    }
}
