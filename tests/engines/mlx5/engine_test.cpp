// The mlx5 engine on the emulator of a card: every algorithm, in every variant, with counters that begin just
// before they wrap. One thread drives cards and ranks, so a seed always gives the same run; results are
// computed from the problem alone, as for all engines. Faults that are planted below the encoder must show.
#include <gtest/gtest.h>
#include <poll.h>

#include <functional>
#include <map>
#include <random>
#include <thread>

#include "base/error.hpp"
#include "collectives/catalogue.hpp"
#include "engines/expected.hpp"
#include "engines/mlx5/doubles/device.hpp"
#include "engines/mlx5/engine.hpp"
#include "engines/mlx5/plan.hpp"
#include "engines/mlx5/probe.hpp"
#include "engines/mlx5/ranks.hpp"
#include "engines/mlx5/work_queues.hpp"
#include "links/process/process_link.hpp"
#include "task/sample.hpp"
#include "task/text.hpp"

namespace lapwing {
namespace {

using namespace testing_engines;
using mlx5_double::DoubleDevice;
using mlx5_double::Drive;

constexpr int runs = 3;
constexpr int max_rounds = 20000;  // without any run that completes

// Changes new entries of send queues before the card may see them, and has shorter queues where asked.
class FaultyDevice final : public mlx5::Device {
  public:
    using Fault = std::function<void(std::byte* block)>;
    FaultyDevice(DoubleDevice& card, Fault fault, std::uint32_t max_blocks)
        : card_(card), fault_(std::move(fault)), max_blocks_(max_blocks) {}

    const char* name() const override { return card_.name(); }
    mlx5::Capabilities capabilities() const override {
        mlx5::Capabilities has = card_.capabilities();
        has.max_send_blocks = std::min(has.max_send_blocks, max_blocks_);
        return has;
    }
    mlx5::CompletionQueue create_completion_queue(const mlx5::CompletionQueueOptions& options) override {
        return card_.create_completion_queue(options);
    }
    mlx5::QueuePair create_queue_pair(const mlx5::QueuePairOptions& options) override {
        mlx5::QueuePair pair = card_.create_queue_pair(options);
        Watched& watched = pairs_[pair.number];
        watched = {this, pair, std::vector<std::byte>(std::size_t{pair.send_blocks} * mlx5::block_bytes)};
        pair.bell = {nullptr, &ring, &watched};
        return pair;
    }
    mlx5::Address address(const mlx5::QueuePair& pair) const override { return card_.address(pair); }
    void connect(const mlx5::QueuePair& pair, const mlx5::Address& peer) override {
        card_.connect(pair, peer);
    }
    void destroy(const mlx5::QueuePair& pair) override {
        pairs_.erase(pair.number);
        card_.destroy(pair);
    }
    void destroy(const mlx5::CompletionQueue& queue) override { card_.destroy(queue); }
    mlx5::MemoryKey register_memory(void* memory, std::size_t bytes) override {
        return card_.register_memory(memory, bytes);
    }
    void deregister(const mlx5::MemoryKey& key) override { card_.deregister(key); }
    void arm(const mlx5::CompletionQueue& queue, std::uint32_t consumed) override {
        card_.arm(queue, consumed);
    }
    int event_descriptor() const override { return card_.event_descriptor(); }
    void clear_events() override { card_.clear_events(); }

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
                if (rung.device->fault_) rung.device->fault_(block);
                std::memcpy(watched.seen.data() + at, block, mlx5::block_bytes);
            }
        }
        rung.pair.bell.ring(value);
    }

    DoubleDevice& card_;
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
    FaultyDevice::Fault fault = {};
    std::uint32_t max_blocks = UINT32_MAX;
};

CardJob job_of(Problem problem, Choice choice, const WorkVariant& variant, unsigned seed) {
    CardJob job{std::move(problem), std::move(choice), &variant, {}};
    job.rules.seed = seed;
    // A strict card refuses WAIT in a queue without cd_master; with a management queue there is none.
    job.rules.strict = variant.management;
    return job;
}

struct CardRank {
    std::unique_ptr<DoubleDevice> card;
    std::unique_ptr<FaultyDevice> faulty;
    std::unique_ptr<GroupEngine> group;
    std::unique_ptr<Prepared> prepared;
    Composition composition;
    std::vector<Bytes> in, out;
    std::vector<Operation*> operations;
};

void start(const CardJob& job, int rank, int round, CardRank& of) {
    of.in.clear();
    of.out.clear();
    of.operations.clear();
    for (int run = 0; run < runs; ++run) {
        of.in.push_back(in_of(job.problem, rank, run + round));
        of.out.push_back(out_before(job.problem, rank, run + round));
    }
    for (std::size_t run = 0; run < runs; ++run) {
        // Now one lane for all, now others, and kept ones.
        const std::uint32_t channel = static_cast<std::uint32_t>(run * (job.rules.seed % 2 == 0 ? 4 : 1)) +
                                      (run == 2 ? first_persistent_channel : 0);
        of.operations.push_back(
            of.prepared->start({of.in[run].data(), of.out[run].data(), &of.composition}, channel));
    }
}

// What is wrong; empty: nothing.
std::string run(const CardJob& job) {
    const int count = job.problem.ranks;
    const auto network = mlx5_double::Network::of_process(static_cast<std::uint32_t>(count));
    const auto links = process_links(count, true);
    std::vector<CardRank> ranks(static_cast<std::size_t>(count));
    std::mt19937 random(static_cast<unsigned>(job.rules.seed));
    try {
        const Engine& engine = mlx5_engine();
        for (int rank = 0; rank < count; ++rank) {
            CardRank& of = ranks[static_cast<std::size_t>(rank)];
            of.card = std::make_unique<DoubleDevice>(network, job.rules, Drive::hand);
            if (job.fault || job.max_blocks != UINT32_MAX)
                of.faulty = std::make_unique<FaultyDevice>(*of.card, job.fault, job.max_blocks);
            mlx5::Device& card = of.faulty != nullptr ? static_cast<mlx5::Device&>(*of.faulty) : *of.card;
            Link& link = *links[static_cast<std::size_t>(rank)];
            const List list = build(job.problem, rank, job.choice);
            if (!engine.supports(list)) return engine.supports(list).reason();
            of.group = job.variant != nullptr ? open_mlx5_group(card, link, *job.variant)
                                              : open_mlx5_group(card, link, *mlx5::fit_variant(card));
            of.prepared = prepare(*of.group, job.problem, rank, job.choice);
        }
        for (int round = 0; round < job.rounds; ++round) {
            for (int rank = 0; rank < count; ++rank)
                start(job, rank, round, ranks[static_cast<std::size_t>(rank)]);
            int left = runs * count;
            for (int rounds = 0; left > 0; ++rounds) {
                if (rounds > max_rounds) return "it never ends";
                for (CardRank& rank : ranks) {
                    rank.card->card().round();
                    Operation*& operation = rank.operations[random() % runs];
                    if (operation == nullptr || !rank.prepared->test(operation)) continue;
                    operation = nullptr;
                    --left;
                    rounds = 0;
                }
            }
            for (int rank = 0; rank < count; ++rank) {
                for (int at = 0; at < runs; ++at) {
                    const Bytes& now =
                        ranks[static_cast<std::size_t>(rank)].out[static_cast<std::size_t>(at)];
                    if (now != out_after(job.problem, rank, at + round, now)) return "wrong bytes";
                }
            }
        }
    } catch (const Error& error) {
        return error.what();
    }
    for (const CardRank& rank : ranks) {
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
    EXPECT_EQ(written(8), 31);
    EXPECT_EQ(written(1024), 31);
    EXPECT_EQ(written(8192), 19);
}

TEST(Mlx5Probe, TakesACardThatDoesWhatItShould) {
    for (const WorkVariant& each : work_variants()) {
        mlx5_double::Rules rules;
        rules.strict = each.management;
        DoubleDevice card(mlx5_double::Network::of_process(1), rules, Drive::hand);
        EXPECT_EQ(mlx5::probe(card, each, std::chrono::seconds(3), [&] { card.card().round(); }), "");
    }
}

TEST(Mlx5Probe, RefusesACardThatDoesNot) {
    const auto told = [](const char* name, mlx5_double::Rules rules) {
        DoubleDevice card(mlx5_double::Network::of_process(1), rules, Drive::hand);
        return mlx5::probe(card, variant(name), std::chrono::seconds(1), [&] { card.card().round(); });
    };
    mlx5_double::Rules rules;
    rules.fault = mlx5_double::Fault::wait_never_blocks;
    EXPECT_EQ(told("peer-send", rules), "a WAIT does not wait, or a managed queue runs at once");
    rules.fault = mlx5_double::Fault::enable_not_needed;
    EXPECT_EQ(told("mq-send", rules), "a WAIT does not wait, or a managed queue runs at once");
    rules.fault = mlx5_double::Fault::wait_one_late;
    EXPECT_EQ(told("peer-send", rules), "a WAIT does not end");
    rules.fault = mlx5_double::Fault::none;
    rules.cross_channel = false;
    EXPECT_NE(told("mq-send", rules), "");
    rules.strict = true;
    EXPECT_NE(told("peer-send", rules), "");
}

}  // namespace
}  // namespace lapwing
