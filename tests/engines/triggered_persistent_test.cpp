// Persistent lists of the triggered engine, over libfabric's provider `sockets`: their messages land in the
// caller's buffers.
#include <gtest/gtest.h>

#include <barrier>
#include <chrono>
#include <functional>
#include <thread>

#include "base/error.hpp"
#include "collectives/catalogue.hpp"
#include "engines/deferred_work_of_ranks.hpp"
#include "engines/expected.hpp"
#include "engines/triggered/engine.hpp"
#include "links/process/process_link.hpp"
#include "support/engines.hpp"
#include "task/sample.hpp"
#include "task/text.hpp"

namespace lapwing {
namespace {

using namespace testing_engines;
using namespace std::chrono_literals;

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
        : problem_(wanted.problem), rank_(rank), channel_(first_persistent_channel + channel) {
        const auto list_of = [&](int one) { return build(wanted.problem, one, wanted.choice); };
        EXPECT_TRUE(group.admit(problem_, list_of, persistent)) << print(problem_);
        prepared_ = group.prepare(problem_, list_of(rank), persistent);
        EXPECT_EQ(prepared_->offer(channel_), 0U);
        out_.resize(out_bytes(problem_, rank_));
    }
    ~PersistentList() { prepared_->release_channel(channel_); }
    PersistentList(const PersistentList&) = delete;
    PersistentList& operator=(const PersistentList&) = delete;

    void start(int number) {
        number_ = number;
        in_ = in_of(problem_, rank_, number);
        const Bytes before = out_before(problem_, rank_, number);
        std::copy(before.begin(), before.end(), out_.begin());
        operation_ = prepared_->start({in_.data(), out_.data(), &composition_}, channel_);
    }
    bool right() const { return out_ == out_after(problem_, rank_, number_, out_); }
    void wait() {
        while (!prepared_->test(operation_)) std::this_thread::yield();
        EXPECT_TRUE(right()) << print(problem_) << ", rank " << rank_ << ", run " << number_;
    }

  private:
    const Problem problem_;
    const int rank_;
    const std::uint32_t channel_;
    Composition composition_;
    std::unique_ptr<Prepared> prepared_;
    int number_ = 0;
    Bytes in_;
    Bytes out_;
    Operation* operation_ = nullptr;
};

void on_all_ranks(int ranks, const std::function<void(GroupEngine&, int, std::barrier<>&)>& body) {
    on_threads(ranks, [&](int rank, Link& messages, std::barrier<>& together) {
        const auto group = open_group(messages);
        body(*group, rank, together);
        together.arrive_and_wait();
    });
}

class TriggeredPersistent : public testing::Test {
  protected:
    void SetUp() override { LAPWING_NEEDS_ENGINE(triggered_engine()); }
};

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
                one.start(number);
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
                one.start(number);
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
        one.start(0);
        one.wait();
        together.arrive_and_wait();
        one.start(1);
        const auto end = std::chrono::steady_clock::now() + 20s;
        while (!one.right() && std::chrono::steady_clock::now() < end) std::this_thread::sleep_for(1ms);
        EXPECT_TRUE(one.right()) << "rank " << rank;
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
                all[(i + static_cast<std::size_t>(rank * number)) % all.size()]->start(number);
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
