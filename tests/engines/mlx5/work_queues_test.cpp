// Work queues: every algorithm of the catalogue in every variant is proven, and so is that the proof finds
// faults.
#include "engines/mlx5/work_queues.hpp"

#include <gmock/gmock.h>

#include "base/error.hpp"
#include "collectives/catalogue.hpp"
#include "engines/mlx5/ranks.hpp"
#include "engines/mlx5/work_queue_checker.hpp"
#include "task/sample.hpp"
#include "task/text.hpp"

namespace lapwing {
namespace {

using testing_engines::variant;

std::vector<List> lists_of(Collective collective, const char* algorithm, int ranks, std::uint64_t bytes) {
    const Problem problem = sample_problems(collective, ranks, bytes).front();
    return build_all(problem, parse_choice(collective, algorithm)).lists;
}

std::vector<WorkQueues> lower_all(const std::vector<List>& lists, const WorkVariant& of,
                                  const WorkLimits& limits) {
    std::vector<WorkQueues> all;
    for (const List& list : lists) all.push_back(lower_to_work_queues(list, of, limits));
    return all;
}

// Tables III and IV, with what they leave out: the end of the sends.
TEST(WorkQueues, OfTheBarrierAreThoseOfThePaper) {
    const auto lists = lists_of(Collective::barrier, "recursive_doubling", 4, 0);
    EXPECT_EQ(print(lower_to_work_queues(lists[0], variant("mq-send"))),
              "work queues of rank 0 of 4, mq-send\n"
              "  receive queue from 1\n"
              "    scratch[0+0]\n"
              "  send queue to 1\n"
              "    send scratch[0+0], reports\n"
              "  receive queue from 2\n"
              "    scratch[0+0]\n"
              "  send queue to 2\n"
              "    send scratch[0+0], reports\n"
              "  management queue\n"
              "    enable sends to 1 up to 1\n"
              "    wait for 1 receives from 1\n"
              "    enable sends to 2 up to 1\n"
              "    wait for 1 receives from 2\n"
              "    wait for 2 ends of send queues, reports\n");
}

TEST(WorkQueues, WithoutAManagementQueueWaitForThemselves) {
    const auto lists = lists_of(Collective::barrier, "recursive_doubling", 4, 0);
    EXPECT_EQ(print(lower_to_work_queues(lists[0], variant("peer-rdma"))),
              "work queues of rank 0 of 4, peer-rdma\n"
              "  receive queue from 1\n"
              "    scratch[0+0]\n"
              "  send queue to 1\n"
              "    write scratch[0+0] to receive 0, reports\n"
              "  receive queue from 2\n"
              "    scratch[0+0]\n"
              "  send queue to 2\n"
              "    wait for 1 receives from 1\n"
              "    write scratch[0+0] to receive 0\n"
              "    wait for 1 receives from 2, reports\n");
}

class EveryVariant : public testing::TestWithParam<const char*> {};

TEST_P(EveryVariant, OfEveryAlgorithmIsProven) {
    const WorkVariant& of = variant(GetParam());
    const WorkLimits limits[] = {
        {},
        {.queue_depth = 4, .max_bytes_of_message = 11, .max_bytes_of_host_copy = 0},
        {.queue_depth = 7, .max_bytes_of_host_copy = 5},
        {.queue_depth = 5, .max_bytes_of_message = 5, .card_copies = false},
    };
    std::size_t proven = 0;
    for (const Algorithm* algorithm : catalogue()) {
        const Choice choice{algorithm, default_parameters(*algorithm)};
        for (const int ranks : {1, 2, 3, 4, 5, 8}) {
            const auto sample = algorithm->knows_hosts ? sample_problems_on_hosts : sample_problems;
            for (const Problem& problem : sample(algorithm->collective, ranks, 24)) {
                if (!algorithm->applies(problem, choice.parameters)) continue;
                const auto lists = build_all(problem, choice).lists;
                if (!has_work_queues(lists[0])) {
                    for (const List& list : lists) EXPECT_FALSE(has_work_queues(list)) << print(list);
                    continue;
                }
                for (const WorkLimits& each : limits) {
                    ASSERT_EQ(check_work_queues(lists, of, each), "")
                        << print(problem) << " by " << print(choice);
                    ++proven;
                }
            }
        }
    }
    EXPECT_GT(proven, 1000U);
}

INSTANTIATE_TEST_SUITE_P(Variants, EveryVariant,
                         testing::Values("mq-send", "mq-rdma", "peer-send", "peer-rdma"));

// Each change of a request breaks a promise, and the proof sees it.
TEST(WorkQueueFaults, AreFound) {
    const WorkLimits limits{.queue_depth = 9, .max_bytes_of_host_copy = 0};
    std::size_t planted = 0;
    for (const WorkVariant& of : work_variants()) {
        for (const auto& [collective, algorithm] : {std::pair(Collective::barrier, "dissemination"),
                                                    {Collective::allgather, "bruck"},
                                                    {Collective::alltoall, "pairwise:window=2"},
                                                    {Collective::allreduce, "recursive_doubling"}}) {
            const auto lists = lists_of(collective, algorithm, 5, 16);
            const auto right = lower_all(lists, of, limits);
            ASSERT_EQ(check_work_queues(lists, right, limits), "") << algorithm;
            const auto found = [&, name = algorithm](const char* what, const std::vector<WorkQueues>& wrong) {
                ++planted;
                EXPECT_NE(check_work_queues(lists, wrong, limits), "") << what << " in " << name << "\n"
                                                                       << print(wrong[2]);
            };
            for (std::size_t queue = 0; queue < right[2].queues.size(); ++queue) {
                for (std::size_t at = 0; at < right[2].queues[queue].requests.size(); ++at) {
                    const auto change = [&](const char* what, auto how) {
                        auto wrong = right;
                        how(wrong[2].queues[queue].requests[at]);
                        found(what, wrong);
                    };
                    const WorkRequest& request = right[2].queues[queue].requests[at];
                    change("a report", [](WorkRequest& r) { r.reports = !r.reports; });
                    if (request.kind == WorkRequest::Kind::enable) {
                        change("one too far", [](WorkRequest& r) { ++r.count; });
                        change("one too few", [](WorkRequest& r) { --r.count; });
                    } else if (request.kind == WorkRequest::Kind::wait) {
                        change("a longer wait", [](WorkRequest& r) { ++r.count; });
                        // The processor counts sends and copies by itself as well.
                        if (request.source == WorkRequest::Source::receives ||
                            (request.source == WorkRequest::Source::copies && !request.reports))
                            change("a shorter wait", [](WorkRequest& r) { --r.count; });
                    } else {
                        change("other bytes", [](WorkRequest& r) { r.from.offset += 1; });
                        change("fewer bytes", [](WorkRequest& r) { r.from.length -= 1; });
                    }
                }
            }
            for (std::size_t stage = 0; stage < right[2].stages.size(); ++stage) {
                auto wrong = right;
                wrong[2].stages[stage].host.push_back(lists[2].tasks.back());
                found("a task of the processor", wrong);
                wrong = right;
                wrong[2].stages[stage].sends += 1;
                found("a stage's end", wrong);
                if (right[2].stages[stage].posted.empty()) continue;
                wrong = right;
                wrong[2].stages[stage].posted.pop_back();
                found("a queue that is not posted", wrong);
            }
        }
    }
    EXPECT_GT(planted, 400U);
}

// Two runs of a list could meet in one memory: a sender may be a run ahead.
TEST(WorkQueueFaults, OneMemoryForAllRunsIsTooFew) {
    const WorkLimits one_memory{.memories_written = 1};
    for (const WorkVariant& of : work_variants()) {
        for (const auto& [collective, algorithm] : {std::pair(Collective::broadcast, "binomial"),
                                                    {Collective::gather, "binomial"},
                                                    {Collective::scatter, "flat"}}) {
            const auto lists = lists_of(collective, algorithm, 5, 16);
            EXPECT_EQ(check_work_queues(lists, of), "") << algorithm;
            const std::string found = check_work_queues(lists, of, one_memory);
            ASSERT_EQ(found.empty(), !of.writes) << of.name << ", " << algorithm;
            if (!of.writes) continue;
            EXPECT_THAT(found, testing::HasSubstr("is written to memory that the receiver still uses"));
        }
    }
}

TEST(WorkQueues, DeclineAReceiveBelowAWait) {
    List list;
    list.ranks = 2;
    const auto add = [&](Kind kind) -> Task& {
        Task& task = list.tasks.emplace_back();
        task.kind = kind;
        task.peer = 1;
        return task;
    };
    add(Kind::recv);
    add(Kind::wait).count = 1;
    EXPECT_TRUE(has_work_queues(list));
    add(Kind::recv);
    EXPECT_STREQ(has_work_queues(list).reason(), "a receive follows a wait, a copy or a reduction");
    EXPECT_THROW(lower_to_work_queues(list, work_variants().front()), Error);
}

// The share that the manual names: all lists are taken, and without reductions none comes back to the
// processor.
TEST(WorkQueues, TakeTheWholeCatalogue) {
    for (const Algorithm* algorithm : catalogue()) {
        const Choice choice{algorithm, default_parameters(*algorithm)};
        const auto sample = algorithm->knows_hosts ? sample_problems_on_hosts : sample_problems;
        for (const Problem& problem : sample(algorithm->collective, 8, 65536)) {
            if (!algorithm->applies(problem, choice.parameters)) continue;
            for (const List& list : build_all(problem, choice).lists) {
                ASSERT_TRUE(has_work_queues(list)) << print(problem) << print(choice);
                const bool reduces = std::any_of(list.tasks.begin(), list.tasks.end(),
                                                 [](const Task& task) { return task.kind == Kind::reduce; });
                if (reduces) continue;
                EXPECT_LE(lower_to_work_queues(list, work_variants().front()).stages.size(), 1U)
                    << print(problem) << print(choice);
            }
        }
    }
}

}  // namespace
}  // namespace lapwing
