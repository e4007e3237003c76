// The triggered engine over libfabric's provider `sockets`: what it leaves to the network while the program
// computes, what it does when the network has too little of something, and persistent lists.

#include "engines/triggered/engine.hpp"
#include "base/error.hpp"
#include "collectives/catalogue.hpp"
#include "engines/expected.hpp"
#include "engines/triggered/ranks.hpp"
#include "support/engines.hpp"
#include "support/process_link.hpp"
#include "support/unit.hpp"
#include "task/sample.hpp"
#include "task/text.hpp"

namespace lapwing {
namespace {

using namespace testing_engines;
using namespace std::chrono_literals;

// Deferred work that is counted, with less of something than the network has.
class Watched final : public DeferredWork {
  public:
    struct Limits {
        bool entries = true;  // there are some for works that wait
        std::uint64_t max_counted = UINT32_MAX;
        std::uint64_t counters = 1000;  // of a rank
    };
    explicit Watched(Limits limits, DeferredWork& real = deferred_work()) : real_(real), limits_(limits) {}

    std::string description() const override { return real_.description(); }
    std::uint64_t entries() const override { return real_.entries(); }
    bool reserve(std::uint64_t entries, bool waits) override {
        return (limits_.entries || !waits) && real_.reserve(entries, waits);
    }
    void give_back(std::uint64_t entries) override { real_.give_back(entries); }
    std::uint64_t counters() const override { return limits_.counters; }
    bool reserve_counters(std::uint64_t counters) override { return real_.reserve_counters(counters); }
    void give_back_counters(std::uint64_t counters) override { real_.give_back_counters(counters); }
    std::uint64_t max_counted() const override { return limits_.max_counted; }
    std::vector<std::byte> address() const override { return real_.address(); }
    std::uint64_t reach(const std::vector<std::byte>& address) override { return real_.reach(address); }
    std::unique_ptr<Counter> make_counter() override {
        ++counters_made_;
        return real_.make_counter();
    }
    std::unique_ptr<Region> expose(std::byte* memory, std::size_t bytes, Counter* raised) override {
        // A region of one byte is for credits.
        if (raised != nullptr && bytes > 1) {
            const std::lock_guard lock(mutex_);
            landings_.push_back(raised);
        }
        return real_.expose(memory, bytes, raised);
    }
    std::unique_ptr<Work> write(Counter& trigger, std::uint64_t threshold, const std::byte* source,
                                std::size_t bytes, const Target& target, Counter& done) override {
        EXPECT_LE(threshold, limits_.max_counted);
        ++queued_;
        return real_.write(trigger, threshold, source, bytes, target, done);
    }
    std::unique_ptr<Work> add(Counter& trigger, std::uint64_t threshold, Counter& raised) override {
        EXPECT_LE(threshold, limits_.max_counted);
        ++queued_;
        return real_.add(trigger, threshold, raised);
    }
    void keep(std::vector<std::unique_ptr<Work>> works,
              std::vector<std::unique_ptr<Counter>> counters) override {
        real_.keep(std::move(works), std::move(counters));
    }
    void stop() override {
        ++stops_;
        real_.stop();
    }
    std::uint64_t calls() const override { return real_.calls(); }

    int stops() const { return stops_; }
    std::uint64_t queued() const { return queued_; }
    std::uint64_t counters_made() const { return counters_made_; }  // by all ranks
    std::uint64_t landing_counters() const { return landings_.size(); }
    // Messages, by one call for each of these counters; not to be asked beside the engine.
    std::uint64_t landed() {
        std::uint64_t sum = 0;
        for (Counter* counter : landings_) sum += counter->read();
        return sum;
    }

  private:
    DeferredWork& real_;
    const Limits limits_;
    std::mutex mutex_;
    std::atomic<int> stops_ = 0;
    std::vector<Counter*> landings_;
    std::atomic<std::uint64_t> queued_ = 0;
    std::atomic<std::uint64_t> counters_made_ = 0;
};

std::unique_ptr<Prepared> prepare_list(const Problem& problem, const Choice& choice, int rank,
                                       DeferredWork& network, Link& messages) {
    const auto group = open_triggered_group(network, messages, limits_of(network));
    const auto list_of = [&](int one) { return build(problem, one, choice); };
    EXPECT_TRUE(group->admit(problem, list_of, {}));
    return group->prepare(problem, list_of(rank), {});
}

// The ranks' runs of a problem.
void on_all_ranks(const Problem& problem, const Choice& choice, DeferredWork& network,
                  const std::function<void(RankRuns&, int, std::barrier<>&)>& body) {
    on_threads(problem.ranks, [&](int rank, Link& messages, std::barrier<>& together) {
        RankRuns one(problem, rank, prepare_list(problem, choice, rank, network, messages));
        body(one, rank, together);
        EXPECT_TRUE(one.right()) << print(problem) << ", rank " << rank;
        together.arrive_and_wait();
    });
}

class TriggeredEngineTest : public testing::Test {
  protected:
    void SetUp() override { LAPWING_NEEDS_ENGINE(triggered_engine()); }
};

TEST_F(TriggeredEngineTest, NothingIsLeftToTheProcessor) {
    const Problem problems[] = {
        {.collective = Collective::barrier, .ranks = 4},
        {.collective = Collective::broadcast, .ranks = 4, .root = 1, .bytes = 8},
        {.collective = Collective::alltoall, .ranks = 4, .bytes = 4096},
    };
    const char* const algorithms[] = {"dissemination", "binomial", "bruck"};
    for (std::size_t i = 0; i < 3; ++i) {
        const Problem& problem = problems[i];
        const Choice choice = parse_choice(problem.collective, algorithms[i]);
        std::uint64_t messages = 0;
        for (int rank = 0; rank < problem.ranks; ++rank)
            for (const Task& task : build(problem, rank, choice).tasks) messages += sends(task.kind) ? 1 : 0;
        Watched network({});
        on_all_ranks(problem, choice, network, [&](RankRuns& rank, int number, std::barrier<>& together) {
            // The first one tells the ranks of each other.
            rank.start();
            rank.wait_all();
            together.arrive_and_wait();
            const std::uint64_t landed_before = network.landed();
            together.arrive_and_wait();
            rank.start();
            together.arrive_and_wait();
            const std::uint64_t calls = network.calls();
            const std::uint64_t queued = network.queued();
            together.arrive_and_wait();
            // Everything has been started. All ranks sleep, nothing calls libfabric but this
            // test, which looks at the counters, and everything lands.
            if (number == 0) {
                const auto end = std::chrono::steady_clock::now() + 20s;
                std::uint64_t looks = 1;
                while (network.landed() < landed_before + messages &&
                       std::chrono::steady_clock::now() < end) {
                    std::this_thread::sleep_for(1ms);
                    ++looks;
                }
                EXPECT_EQ(network.calls(), calls + looks * network.landing_counters());
                EXPECT_EQ(network.landed(), landed_before + messages);
                EXPECT_EQ(network.queued(), queued);
            }
            together.arrive_and_wait();
            rank.wait_all();
        });
    }
}

// Of each collective one algorithm, several times in a row.
void run_some(Watched::Limits limits, int runs) {
    unsigned turn = 0;
    for (const Algorithm* const algorithm : catalogue()) {
        const Choice choice{algorithm, default_parameters(*algorithm)};
        if (algorithm->knows_hosts) continue;
        const auto problems = sample_problems(algorithm->collective, 4, 40);
        const Problem& problem = problems.front();
        if (!algorithm->applies(problem, choice.parameters)) continue;
        if (turn++ % (LAPWING_TEST_FEWER ? 12 : 4) != 0) continue;
        Watched network(limits);
        on_all_ranks(problem, choice, network, [&](RankRuns& rank, int, std::barrier<>&) {
            for (int run = 0; run < runs; ++run) {
                rank.start();
                rank.wait_all();
            }
        });
    }
}

TEST_F(TriggeredEngineTest, WithoutEntriesTheCallerDoesTheWork) {
    run_some({.entries = false}, 3);
}

TEST_F(TriggeredEngineTest, CountersBeginAnewBeforeTheirEnd) {
    // With a message in each run, a slot's counter passes half of it.
    run_some({.max_counted = 12}, 14);
}

TEST_F(TriggeredEngineTest, MoreRunsThanHaveCounters) {
    const Problem problem{.collective = Collective::alltoall, .ranks = 4, .bytes = 40};
    // 2 of a group, 4 for each of 3 peers, and 2 for each of 4 runs.
    constexpr std::uint64_t counters = 22;
    Watched network({.counters = counters});
    on_all_ranks(problem, parse_choice(problem.collective, "bruck"), network,
                 [](RankRuns& rank, int, std::barrier<>&) {
                     for (int run = 0; run < 9; ++run) rank.start();
                     rank.wait_all();
                 });
    EXPECT_LE(network.counters_made(), counters * 4);
}

TEST_F(TriggeredEngineTest, ARunThatIsDestroyedBeforeItsEndStopsTheNetworkOfItsRank) {
    const Problem problem{.collective = Collective::barrier, .ranks = 2};
    const Choice choice = parse_choice(problem.collective, "dissemination");
    on_threads(2, [&](int number, Link& messages, std::barrier<>& together) {
        const auto real = open_deferred_work({.provider = "sockets"});
        Watched network({}, *real);
        {
            RankRuns rank(problem, number, prepare_list(problem, choice, number, network, messages));
            rank.start();
            rank.wait_all();
            EXPECT_EQ(network.stops(), 0);
            together.arrive_and_wait();
            if (number == 0) rank.start();  // the other rank does not
        }
        EXPECT_EQ(network.stops(), number == 0 ? 1 : 0);
        // Until then rank 1 is there.
        together.arrive_and_wait();
    });
}

TEST_F(TriggeredEngineTest, CountersAreSetAsideForAllListsOfAGroup) {
    const auto messages = process_links(8, true);
    triggered::GroupLimits limits = limits_of(deferred_work());
    limits.once.counters = 2 + 4 * 3 + 4 * 2;
    const auto group = open_triggered_group(deferred_work(), *messages.front(), limits);
    const auto admits = [&](const Problem& problem, const char* algorithm) {
        const Choice choice = parse_choice(problem.collective, algorithm);
        return bool(group->admit(problem, [&](int rank) { return build(problem, rank, choice); }, {}));
    };
    // Each rank has three peers at most with the first one; others add to them.
    const Problem broadcast{.collective = Collective::broadcast, .ranks = 8, .bytes = 8};
    const Problem gather{.collective = Collective::gather, .ranks = 8, .bytes = 8};
    EXPECT_TRUE(admits(broadcast, "binomial"));
    EXPECT_FALSE(admits(gather, "flat"));
    EXPECT_TRUE(admits(broadcast, "binomial"));
    Problem from_another = broadcast;
    from_another.root = 3;
    EXPECT_FALSE(admits(from_another, "binomial"));
}

TEST_F(TriggeredEngineTest, DeclinesWhatItCannotDo) {
    const triggered::Limits limits{100, UINT64_MAX, 32768};
    const auto why_not = [&](const Problem& problem, const char* algorithm) -> std::string {
        const Choice choice = parse_choice(problem.collective, algorithm);
        const Verdict verdict = triggered::demand_of(
                                    problem, [&](int rank) { return build(problem, rank, choice); }, limits)
                                    .verdict;
        return verdict ? "" : verdict.reason();
    };
    const Problem barrier{.collective = Collective::barrier, .ranks = 4};
    EXPECT_EQ(why_not(barrier, "dissemination"), "");
    const Problem sum{.collective = Collective::allreduce, .ranks = 4, .bytes = 8, .type = Type::float64};
    EXPECT_EQ(why_not(sum, "recursive_doubling"), "");
    const Problem few{.collective = Collective::broadcast, .ranks = 4, .bytes = 32768};
    EXPECT_EQ(why_not(few, "binomial"), "");
    const Problem many{.collective = Collective::broadcast, .ranks = 4, .bytes = 32769};
    EXPECT_EQ(why_not(many, "binomial"), "a rank sends more than LAPWING_TRIGGER_BYTES to another rank");
    const Problem wide{.collective = Collective::broadcast, .ranks = 200, .bytes = 8};
    EXPECT_EQ(why_not(wide, "flat"),
              "a rank needs more trigger entries than it has (LAPWING_TRIGGER_ENTRIES)");
    EXPECT_EQ(why_not(wide, "binomial"), "");
    Problem parts = sample_problems(Collective::alltoallv, 4, 8).front();
    parts.parts.resize(1);
    EXPECT_EQ(why_not(parts, "flat"), "a rank does not know the block lengths of the other ranks");
}

TEST(TriggeredEngineAlone, SaysWhyAProviderHasNoDeferredWork) {
    EXPECT_THAT([] { open_deferred_work({.provider = "tcp"}); },
                testing::ThrowsMessage<Error>(testing::HasSubstr("deferred work")));
}

// Persistent lists: their messages land in the caller's buffers.

struct Wanted {
    Problem problem;
    Choice choice;
};

Wanted wanted(const Problem& problem, const char* algorithm) {
    return {problem, parse_choice(problem.collective, algorithm)};
}

constexpr ListUse persistent{.persistent = true};

std::unique_ptr<GroupEngine> open_group(Link& messages, std::uint64_t counters = 1000) {
    triggered::GroupLimits limits = limits_of(deferred_work());
    limits.persistent = limits.once;
    limits.persistent.counters = counters;
    return open_triggered_group(deferred_work(), messages, limits);
}

// One rank's part in one list.
class PersistentList {
  public:
    PersistentList(GroupEngine& group, const Wanted& wanted, int rank, std::uint32_t channel)
        : channel_(first_persistent_channel + channel),
          runs_(wanted.problem, rank, prepare(group, wanted, rank)) {
        EXPECT_EQ(runs_.prepared().offer(channel_), 0U);
    }
    ~PersistentList() { runs_.prepared().release_channel(channel_); }
    PersistentList(const PersistentList&) = delete;
    PersistentList& operator=(const PersistentList&) = delete;

    void start() { runs_.start_again(channel_); }
    bool becomes_right() const { return runs_.becomes_right(); }
    void wait() {
        runs_.wait_all();
        EXPECT_TRUE(runs_.right()) << "rank " << runs_.rank();
    }

  private:
    static std::unique_ptr<Prepared> prepare(GroupEngine& group, const Wanted& wanted, int rank) {
        const auto list_of = [&](int one) { return build(wanted.problem, one, wanted.choice); };
        EXPECT_TRUE(group.admit(wanted.problem, list_of, persistent)) << print(wanted.problem);
        return group.prepare(wanted.problem, list_of(rank), persistent);
    }

    const std::uint32_t channel_;
    RankRuns runs_;
};

void on_all_ranks(int ranks, const std::function<void(GroupEngine&, int, std::barrier<>&)>& body) {
    on_threads(ranks, [&](int rank, Link& messages, std::barrier<>& together) {
        const auto group = open_group(messages);
        body(*group, rank, together);
        together.arrive_and_wait();
    });
}

class TriggeredPersistent : public TriggeredEngineTest {};

// Of each algorithm, four starts.
TEST_F(TriggeredPersistent, EveryAlgorithm) {
    std::size_t turn = 0;
    for (const Algorithm* const algorithm : catalogue()) {
        const Choice choice{algorithm, default_parameters(*algorithm)};
        const auto sample = algorithm->knows_hosts ? sample_problems_on_hosts : sample_problems;
        const auto problems = sample(algorithm->collective, 4, turn % 2 == 0 ? 40 : 3000);
        const Problem& problem = problems[turn++ % problems.size()];
        if (!algorithm->applies(problem, choice.parameters)) continue;
        if (LAPWING_TEST_FEWER && turn % 6 != 0) continue;
        on_all_ranks(4, [&](GroupEngine& group, int rank, std::barrier<>&) {
            PersistentList one(group, {problem, choice}, rank, 0);
            for (int number = 0; number < 4; ++number) {
                one.start();
                one.wait();
            }
        });
        ASSERT_FALSE(HasFailure()) << algorithm->name;
    }
}

// Far more than LAPWING_TRIGGER_BYTES, and more than libfabric's provider writes at once.
TEST_F(TriggeredPersistent, LongMessages) {
    for (const std::uint64_t bytes : {300'000U, 9'000'000U}) {
        const Problem problem{.collective = Collective::allgather, .ranks = 2, .bytes = bytes};
        on_all_ranks(2, [&](GroupEngine& group, int rank, std::barrier<>&) {
            PersistentList one(group, wanted(problem, "ring"), rank, 0);
            for (int number = 0; number < 2; ++number) {
                one.start();
                one.wait();
            }
        });
    }
}

// The program sleeps in its own work, calls nothing, and finds the bytes where they belong.
TEST_F(TriggeredPersistent, BytesLandInTheBuffers) {
    const Problem problem{.collective = Collective::broadcast, .ranks = 4, .bytes = 100'000};
    on_all_ranks(4, [&](GroupEngine& group, int rank, std::barrier<>& together) {
        PersistentList one(group, wanted(problem, "binomial"), rank, 0);
        // In the first run ranks announce their memory.
        one.start();
        one.wait();
        together.arrive_and_wait();
        one.start();
        EXPECT_TRUE(one.becomes_right()) << "rank " << rank;
        together.arrive_and_wait();
        one.wait();
    });
}

TEST_F(TriggeredPersistent, EachRankStartsListsInAnOrderOfItsOwn) {
    const Wanted lists[] = {
        wanted({.collective = Collective::barrier, .ranks = 3}, "dissemination"),
        wanted({.collective = Collective::alltoall, .ranks = 3, .bytes = 700}, "bruck"),
        wanted({.collective = Collective::allreduce, .ranks = 3, .bytes = 64, .type = Type::int64},
               "recursive_doubling"),
        wanted({.collective = Collective::gather, .ranks = 3, .root = 1, .bytes = 50}, "binomial"),
    };
    on_all_ranks(3, [&](GroupEngine& group, int rank, std::barrier<>&) {
        std::vector<std::unique_ptr<PersistentList>> all;
        for (const Wanted& one : lists)
            all.push_back(
                std::make_unique<PersistentList>(group, one, rank, static_cast<std::uint32_t>(all.size())));
        for (int number = 0; number < 6; ++number) {
            for (std::size_t i = 0; i < all.size(); ++i)
                all[(i + static_cast<std::size_t>(rank * number)) % all.size()]->start();
            for (const auto& one : all) one->wait();
        }
    });
}

TEST_F(TriggeredPersistent, AReleasedListLeavesItsCounters) {
    const Problem problem{.collective = Collective::alltoall, .ranks = 4, .bytes = 40};
    const auto messages = process_links(4, true);
    // For each list 3 of each direction and 1 of its run.
    const auto group = open_group(*messages.front(), 2 * 7);
    const Choice choice = parse_choice(problem.collective, "flat");
    const auto list_of = [&](int rank) { return build(problem, rank, choice); };
    ASSERT_TRUE(group->admit(problem, list_of, persistent));
    const auto prepared = group->prepare(problem, list_of(0), persistent);
    EXPECT_EQ(prepared->offer(first_persistent_channel), 0U);
    EXPECT_EQ(prepared->offer(first_persistent_channel + 1), 0U);
    EXPECT_EQ(prepared->offer(first_persistent_channel + 2), UINT32_MAX);
    prepared->release_channel(first_persistent_channel);
    EXPECT_EQ(prepared->offer(first_persistent_channel + 2), 0U);
}

TEST_F(TriggeredPersistent, AnotherBufferIsAnError) {
    const Problem problem{.collective = Collective::broadcast, .ranks = 1, .bytes = 8};
    const auto messages = process_links(1, true);
    const auto group = open_group(*messages.front());
    const auto prepared =
        group->prepare(problem, build(problem, 0, parse_choice(problem.collective, "binomial")), persistent);
    ASSERT_EQ(prepared->offer(first_persistent_channel), 0U);
    std::byte memory[2] = {};
    Operation* const first = prepared->start({memory, memory, nullptr}, first_persistent_channel);
    EXPECT_TRUE(prepared->test(first));
    EXPECT_THROW(prepared->start({memory, memory + 1, nullptr}, first_persistent_channel), Error);
}

}  // namespace
}  // namespace lapwing
