// The mlx5 engine on the emulator of a card: every algorithm, in every variant, with counters that begin just
// before they wrap. One thread drives cards and ranks, so a seed always gives the same run; results are
// computed from the problem alone, as for all engines. Faults that are planted below the encoder must show.
#include <poll.h>

#include "base/error.hpp"
#include "collectives/catalogue.hpp"
#include "engines/expected.hpp"
#include "engines/mlx5/doubles/device.hpp"
#include "engines/mlx5/engine.hpp"
#include "engines/mlx5/plan.hpp"
#include "engines/mlx5/probe.hpp"
#include "engines/mlx5/ranks.hpp"
#include "engines/mlx5/work_queues.hpp"
#include "support/process_link.hpp"
#include "support/unit.hpp"
#include "task/sample.hpp"
#include "task/text.hpp"

namespace lapwing {
namespace {

using namespace testing_engines;
using mlx5_double::DoubleDevice;
using mlx5_double::Drive;

// Changes new entries of send queues before the card may see them, and has shorter queues where asked.
class FaultyDevice final : public DoubleDevice {
  public:
    using Fault = std::function<void(std::byte* block)>;
    FaultyDevice(std::shared_ptr<mlx5_double::Network> network, const mlx5_double::Rules& rules, Fault fault,
                 std::uint32_t max_blocks)
        : DoubleDevice(std::move(network), rules, Drive::hand),
          fault_(std::move(fault)),
          max_blocks_(max_blocks) {}

    mlx5::Capabilities capabilities() const override {
        mlx5::Capabilities has = DoubleDevice::capabilities();
        has.max_send_blocks = std::min(has.max_send_blocks, max_blocks_);
        return has;
    }
    mlx5::QueuePair create_queue_pair(const mlx5::QueuePairOptions& options) override {
        mlx5::QueuePair pair = DoubleDevice::create_queue_pair(options);
        Watched& watched = pairs_[pair.number];
        watched = {this, pair, std::vector<std::byte>(std::size_t{pair.send_blocks} * mlx5::block_bytes)};
        pair.bell = {nullptr, &ring, &watched};
        return pair;
    }
    using DoubleDevice::destroy;
    void destroy(const mlx5::QueuePair& pair) override {
        pairs_.erase(pair.number);
        DoubleDevice::destroy(pair);
    }

  private:
    struct Watched {
        FaultyDevice* device = nullptr;
        mlx5::QueuePair pair;
        std::vector<std::byte> seen;
    };
    static void ring(void* context, std::uint64_t value) {
        Watched& rung = *static_cast<Watched*>(context);
        for (auto& [number, watched] : rung.device->pairs_) {
            for (std::size_t at = 0; at < watched.seen.size(); at += mlx5::block_bytes) {
                std::byte* const block = watched.pair.send + at;
                if (std::memcmp(block, watched.seen.data() + at, mlx5::block_bytes) == 0) continue;
                rung.device->fault_(block);
                std::memcpy(watched.seen.data() + at, block, mlx5::block_bytes);
            }
        }
        rung.pair.bell.ring(value);
    }

    const Fault fault_;
    const std::uint32_t max_blocks_;
    std::map<std::uint32_t, Watched> pairs_;
};

struct CardJob {
    Problem problem;
    Choice choice;
    const WorkVariant* variant = nullptr;
    mlx5_double::Rules rules;
    int rounds = 1;
    int max_polls = 200'000;  // without any run that completes
    FaultyDevice::Fault fault = [](std::byte*) {};
    std::uint32_t max_blocks = UINT32_MAX;
};

CardJob job_of(Problem problem, Choice choice, const WorkVariant& variant, unsigned seed) {
    CardJob job{std::move(problem), std::move(choice), &variant, {}};
    job.rules.seed = seed;
    // A strict card refuses WAIT in a queue without cd_master; with a management queue there is none.
    job.rules.strict = variant.management;
    return job;
}

// What is wrong; empty: nothing.
std::string run(const CardJob& job) {
    const int count = job.problem.ranks;
    const auto network = mlx5_double::Network::of_process(static_cast<std::uint32_t>(count));
    const auto links = process_links(count, true);
    std::vector<CardRank> ranks;
    std::mt19937 random(static_cast<unsigned>(job.rules.seed));
    try {
        for (int rank = 0; rank < count; ++rank) {
            const Verdict supported = mlx5_engine().supports(build(job.problem, rank, job.choice));
            if (!supported) return supported.reason();
            ranks.emplace_back(std::make_unique<FaultyDevice>(network, job.rules, job.fault, job.max_blocks),
                               *links[static_cast<std::size_t>(rank)], *job.variant, job.problem, rank,
                               job.choice);
        }
        for (int round = 0; round < job.rounds; ++round) {
            for (CardRank& rank : ranks) {
                // Now one lane for all, now others, and persistent ones.
                const std::uint32_t next = job.rules.seed % 2 == 0 ? 4 : 1;
                for (const std::uint32_t channel : {0U, next, 2 * next + first_persistent_channel})
                    rank.runs->start(channel);
            }
            std::size_t left = 1;
            for (int polls = 0; left > 0; ++polls) {
                if (polls > job.max_polls) return "it never ends";
                const std::size_t before = std::exchange(left, 0);
                for (CardRank& rank : ranks) {
                    rank.card->card().round();
                    rank.runs->test_one(random);
                    left += rank.runs->in_flight();
                }
                if (left != before) polls = 0;
            }
        }
    } catch (const Error& error) {
        return error.what();
    }
    for (const CardRank& rank : ranks) {
        if (!rank.runs->right()) return "wrong bytes";
        if (!rank.card->card().refusals().empty()) return rank.card->card().refusals().front();
    }
    return {};
}

void expect_right(const CardJob& job) {
    EXPECT_EQ(run(job), "") << job.variant->name << ", seed " << job.rules.seed << ", " << print(job.problem)
                            << " " << print(job.choice);
}

class Mlx5Engine : public testing::TestWithParam<int> {};

TEST_P(Mlx5Engine, EveryAlgorithm) {
    unsigned seed = static_cast<unsigned>(GetParam());
    for (const Algorithm* algorithm : catalogue()) {
        const Choice choice{algorithm, default_parameters(*algorithm)};
        for (const std::uint64_t bytes : {8U, 30000U}) {
            const auto sample = algorithm->knows_hosts ? sample_problems_on_hosts : sample_problems;
            const auto problems = sample(algorithm->collective, GetParam(), bytes);
            ++seed;
            const Problem& problem = problems[seed * 7 % problems.size()];
            if (!algorithm->applies(problem, choice.parameters)) continue;
            expect_right(job_of(problem, choice, work_variants()[seed % 4], seed));
            if (HasFailure()) return;
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Ranks, Mlx5Engine,
                         testing::ValuesIn(LAPWING_TEST_FEWER ? std::vector{3} : std::vector{1, 2, 3, 4, 7}));

// Several hundred seeds, each another order of what the card does; starts enough for all counters to wrap.
TEST(Mlx5EngineSeeds, EachIsAnotherOrder) {
    for (unsigned seed = 0; seed < (LAPWING_TEST_FEWER ? 20 : 400); ++seed) {
        const std::pair<Collective, const char*> cases[] = {{Collective::barrier, "dissemination"},
                                                            {Collective::alltoall, "pairwise:window=2"},
                                                            {Collective::allgather, "bruck"},
                                                            {Collective::allreduce, "recursive_doubling"},
                                                            {Collective::broadcast, "binomial"}};
        const auto& [collective, algorithm] = cases[seed / 4 % std::size(cases)];
        CardJob job = job_of(sample_problems(collective, 3, 24).front(), parse_choice(collective, algorithm),
                             work_variants()[seed % 4], seed);
        job.rounds = 4;
        expect_right(job);
        if (HasFailure()) return;
    }
}

// Copies of buffers, and buffers that the card itself reads and writes; stages by queues that are full.
TEST(Mlx5EngineSizes, LongListsAndBuffers) {
    for (const WorkVariant& each : work_variants()) {
        expect_right(job_of(sample_problems(Collective::broadcast, 3, 150000).front(),
                            parse_choice(Collective::broadcast, "binomial"), each, 5));
        CardJob job = job_of(sample_problems(Collective::alltoall, 5, 40).front(),
                             parse_choice(Collective::alltoall, "bruck"), each, 6);
        job.max_blocks = 4;
        expect_right(job);
        job = job_of(sample_problems_on_hosts(Collective::broadcast, 4, 24000).front(),
                     parse_choice(Collective::broadcast, "two_level:k=1:segment=1"), each, 7);
        job.max_blocks = 8;
        expect_right(job);
    }
}

std::uint32_t word(const std::byte* at) {
    std::uint32_t value = 0;
    for (int i = 0; i < 4; ++i) value = value << 8 | static_cast<std::uint32_t>(at[i]);
    return value;
}
void set_word(std::byte* at, std::uint32_t value) {
    for (int i = 3; i >= 0; --i, value >>= 8) at[i] = static_cast<std::byte>(value & 0xff);
}

struct PlantedInDevice {
    const char* name;
    const char* variant;
    FaultyDevice::Fault fault;
};

FaultyDevice::Fault in_opcode(unsigned opcode, std::function<void(std::byte*)> change) {
    return [opcode, change = std::move(change)](std::byte* block) {
        if (block[3] == static_cast<std::byte>(opcode)) change(block);
    };
}
FaultyDevice::Fault of_word(unsigned opcode, std::size_t at,
                            std::function<std::uint32_t(std::uint32_t)> change) {
    return in_opcode(opcode, [at, change = std::move(change)](std::byte* block) {
        set_word(block + at, change(word(block + at)));
    });
}

TEST(Mlx5EngineFaults, AreFound) {
    constexpr unsigned write = 0x09, send = 0x0a, wait = 0x0f, enable = 0x17;
    const auto less = [](std::uint32_t value) { return (value - 1) & 0xffffff; };
    const auto more = [](std::uint32_t value) { return (value + 1) & 0xffffff; };
    const PlantedInDevice all[] = {
        {"WAIT one early", "mq-send", of_word(wait, 24, less)},
        {"WAIT one early", "peer-send", of_word(wait, 24, less)},
        {"WAIT one late", "mq-send", of_word(wait, 24, more)},
        {"WAIT one late", "peer-send", of_word(wait, 24, more)},
        {"WAIT counts in 16 bits", "mq-send", of_word(wait, 24, [](std::uint32_t v) { return v & 0xffff; })},
        {"WAIT for another queue", "mq-send", of_word(wait, 28, more)},
        {"SEND_EN one more", "mq-send",
         of_word(enable, 24, [](std::uint32_t v) { return (v + 1) & 0xffff; })},
        {"SEND_EN one less", "mq-send",
         of_word(enable, 24, [](std::uint32_t v) { return (v - 1) & 0xffff; })},
        {"SEND_EN of another queue", "mq-send", of_word(enable, 28, more)},
        {"an index stands still", "peer-send",
         in_opcode(send, [](std::byte* block) { block[2] = std::byte{0}; })},
        {"another queue's number", "peer-send", of_word(send, 4, [](std::uint32_t v) { return v + 0x100; })},
        {"segments not counted", "peer-send", of_word(send, 4, [](std::uint32_t v) { return v + 1; })},
        {"another opcode", "peer-send",
         in_opcode(send, [](std::byte* block) { block[3] = std::byte{0x25}; })},
        {"another modifier", "mq-send", of_word(wait, 0, [](std::uint32_t v) { return v | 2U << 24; })},
        {"a reserved bit", "peer-send", of_word(send, 8, [](std::uint32_t v) { return v | 1U << 24; })},
        {"another key", "peer-send", of_word(send, 20, [](std::uint32_t v) { return v ^ 0x100; })},
        {"a longer message", "peer-send", of_word(send, 16, [](std::uint32_t v) { return v + 1; })},
        {"written elsewhere", "mq-rdma", of_word(write, 20, [](std::uint32_t v) { return v + 1; })},
        {"written elsewhere", "peer-rdma", of_word(write, 20, [](std::uint32_t v) { return v + 1; })},
        {"a peer's other key", "peer-rdma", of_word(write, 24, [](std::uint32_t v) { return v ^ 0x100; })},
        {"a longer write", "mq-rdma", of_word(write, 32, [](std::uint32_t v) { return v + 1; })},
        {"no receive used up", "peer-rdma",
         in_opcode(write, [](std::byte* block) { block[3] = std::byte{0x08}; })},
        {"no report", "mq-send", in_opcode(wait, [](std::byte* block) { block[11] = std::byte{0}; })},
        {"no report", "peer-send", in_opcode(send, [](std::byte* block) { block[11] = std::byte{0}; })},
    };
    for (const PlantedInDevice& planted : all) {
        bool found = false;
        for (unsigned seed = 0; seed < 12 && !found; ++seed) {
            // Forwarded bytes, and two messages to one peer.
            CardJob job = job_of(sample_problems_on_hosts(Collective::broadcast, 4, 6000).front(),
                                 parse_choice(Collective::broadcast, "two_level:k=1:segment=2"),
                                 variant(planted.variant), seed);
            ASSERT_EQ(run(job), "");
            job.fault = planted.fault;
            job.max_polls = 20'000;  // the right run needs 512
            found = !run(job).empty();
        }
        EXPECT_TRUE(found) << planted.name << " in " << planted.variant;
    }
}

// Callers that sleep at the descriptor are woken. The cards have a thread of their own here.
TEST(Mlx5EngineSleep, EndsWhenTheCardIsDone) {
    for (const char* name : {"mq-send", "peer-send"}) {
        const Problem problem = sample_problems(Collective::allreduce, 2, 24).front();
        const Choice choice = parse_choice(Collective::allreduce, "recursive_doubling");
        const auto network = mlx5_double::Network::of_process(2);
        const auto links = process_links(2, true);
        std::vector<std::thread> threads;
        std::vector<std::unique_ptr<DoubleDevice>> cards;
        for (std::uint64_t rank = 0; rank < 2; ++rank) {
            mlx5_double::Rules rules;
            rules.seed = rank;
            cards.push_back(std::make_unique<DoubleDevice>(network, rules));
        }
        for (int rank = 0; rank < 2; ++rank) {
            threads.emplace_back([&, rank, at = static_cast<std::size_t>(rank)] {
                const auto group = open_mlx5_group(*cards[at], *links[at], variant(name));
                const auto prepared = prepare(*group, problem, rank, choice);
                int wake_ups = 0;
                for (int round = 0; round < 6; ++round) {
                    const Bytes in = in_of(problem, rank, round);
                    Bytes out = out_before(problem, rank, round);
                    Operation* const operation = prepared->start({in.data(), out.data()}, 0);
                    while (!prepared->test(operation)) {
                        pollfd descriptor{prepared->prepare_to_sleep(operation), POLLIN, 0};
                        if (descriptor.fd < 0) {
                            std::this_thread::yield();
                        } else if (poll(&descriptor, 1, 20000) != 1) {
                            ADD_FAILURE() << "nobody wakes rank " << rank << ", " << name;
                            return;
                        } else {
                            ++wake_ups;
                        }
                    }
                    EXPECT_EQ(out, out_after(problem, rank, round, out));
                }
                // One for each completion that there can be, at most; who is not asleep then spins.
                EXPECT_LE(wake_ups, 6 * 8) << name;
            });
        }
        for (std::thread& thread : threads) thread.join();
    }
}

// The share that the manual names: of which algorithms the messages are written in the variants that write.
TEST(Mlx5Plan, WritesWhatIsOneProblemAtAllRanks) {
    const auto written = [](std::uint64_t bytes) {
        int count = 0;
        for (const Algorithm* algorithm : catalogue()) {
            const Choice choice{algorithm, default_parameters(*algorithm)};
            const auto sample = algorithm->knows_hosts ? sample_problems_on_hosts : sample_problems;
            const auto problems = sample(algorithm->collective, 8, bytes);
            const auto all_written = [&](const Problem& problem) {
                if (!algorithm->applies(problem, choice.parameters)) return true;
                if (mlx5::sends_only(problem)) return false;
                const auto lists = build_all(problem, choice).lists;
                return std::all_of(lists.begin(), lists.end(), mlx5::written_to);
            };
            count += std::all_of(problems.begin(), problems.end(), all_written) ? 1 : 0;
        }
        return count;
    };
    EXPECT_EQ(written(8), 29);
    EXPECT_EQ(written(1024), 29);
    EXPECT_EQ(written(8192), 18);
}

TEST(Mlx5Probe, TakesACardThatDoesWhatItShould) {
    const auto why_not = [](const char* name, const mlx5_double::Rules& rules) {
        DoubleDevice card(mlx5_double::Network::of_process(1), rules);
        return mlx5::probe(card, variant(name));
    };
    mlx5_double::Rules rules;
    EXPECT_EQ(why_not("peer-rdma", rules), "");
    rules.strict = true;
    EXPECT_EQ(why_not("mq-send", rules), "");
    EXPECT_NE(why_not("peer-send", rules), "");
    rules.cross_channel = false;
    EXPECT_NE(why_not("mq-send", rules), "");
    rules = {};
    rules.fault = mlx5_double::Fault::wait_never_blocks;
    EXPECT_NE(why_not("peer-send", rules), "");
}

}  // namespace
}  // namespace lapwing
