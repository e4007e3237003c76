// Schedules and ledger of the triggered engine, run by a model of a network (triggered_model.hpp) in many
// orders; faults that are planted into works, credits, slots and counters must be found.
#include "engines/triggered/model.hpp"

#include <ostream>

#include "collectives/catalogue.hpp"
#include "support/unit.hpp"
#include "task/sample.hpp"
#include "task/text.hpp"

namespace lapwing::triggered {
namespace {

using namespace testing_triggered;

bool has_all(const ListSet& lists) {
    return std::all_of(lists.lists.begin(), lists.lists.end(),
                       [](const List& list) { return has_schedule(list); });
}

// Problems that have a schedule, of several algorithms.
std::vector<Job> random_jobs(int ranks, std::mt19937& random, std::size_t count,
                             std::optional<Collective> only) {
    std::vector<Job> jobs;
    while (jobs.size() < count) {
        const Algorithm* const algorithm = catalogue()[random() % catalogue().size()];
        if (only && algorithm->collective != *only) continue;
        const Choice choice{algorithm, default_parameters(*algorithm)};
        const auto sample = algorithm->knows_hosts ? sample_problems_on_hosts : sample_problems;
        const auto problems = sample(algorithm->collective, ranks, random() % 2 == 0 ? 8 : 300);
        const Problem& problem = problems[random() % problems.size()];
        if (!algorithm->applies(problem, choice.parameters)) continue;
        Job job{build_all(problem, choice), problem};
        if (has_all(job.lists)) jobs.push_back(std::move(job));
    }
    return jobs;
}

std::string run(Credits credits, unsigned seed, Fault fault, std::uint64_t first,
                std::optional<Collective> only = std::nullopt) {
    std::mt19937 random(seed);
    const int ranks = 2 + static_cast<int>(random() % 4);
    const bool persistent = credits == Credits::at_begin;
    const auto jobs = random_jobs(ranks, random, persistent ? 3 : first == 0 ? 6 : 80, only);
    const int rounds = !persistent ? 1 : first == 0 ? 4 : 50;
    std::string wrong = Model(jobs, credits, rounds, seed, first, fault).run();
    if (wrong.empty() || fault != Fault::none) return wrong;
    wrong += ", seed " + std::to_string(seed) + ":";
    for (const Job& job : jobs) wrong += " [" + job.lists.algorithm + " " + print(job.problem) + "]";
    return wrong;
}

std::string name(Credits credits) {
    return credits == Credits::at_end ? "Shared" : "Persistent";
}

class TriggeredModel : public testing::TestWithParam<Credits> {
  protected:
    const unsigned seeds_ = LAPWING_TEST_FEWER ? 40 : GetParam() == Credits::at_end ? 400 : 300;
};

TEST_P(TriggeredModel, EveryOrderGivesTheBytesOfTheProblem) {
    for (unsigned seed = 0; seed < seeds_; ++seed) ASSERT_EQ(run(GetParam(), seed, Fault::none, 0), "");
}

TEST_P(TriggeredModel, CountersRestartBeforeTheirMaximum) {
    for (unsigned seed = 0; seed < seeds_ / 8; ++seed)
        ASSERT_EQ(run(GetParam(), seed, Fault::none, counts - max_in_run - seed % 40), "");
}

TEST_P(TriggeredModel, EveryAlgorithmWithASchedule) {
    for (const Algorithm* const algorithm : catalogue()) {
        const Choice choice{algorithm, default_parameters(*algorithm)};
        for (const int ranks : {1, 2, 3, 4, 7}) {
            const auto sample = algorithm->knows_hosts ? sample_problems_on_hosts : sample_problems;
            unsigned number = 0;
            for (const Problem& problem : sample(algorithm->collective, ranks, 40)) {
                if (!algorithm->applies(problem, choice.parameters) || ++number > 12) continue;
                const Job job{build_all(problem, choice), problem};
                SCOPED_TRACE(print(problem) + " " + print(choice));
                ASSERT_TRUE(has_all(job.lists));
                EXPECT_EQ(Model({job}, GetParam(), 3, number, 0, Fault::none).run(), "");
            }
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Each, TriggeredModel, testing::Values(Credits::at_end, Credits::at_begin),
                         [](const auto& one) { return name(one.param); });

// For each fault: where it can be planted, near the maximum of counters or not, and a collective that shows
// it often, which has every second run.
struct PlantedInModel {
    friend std::ostream& operator<<(std::ostream& out, const PlantedInModel& one) {
        return out << static_cast<int>(one.fault);
    }
    Fault fault;
    std::vector<Credits> in;
    bool near_maximum = false;
    std::optional<Collective> often = std::nullopt;
};

class TriggeredPlantedFault : public testing::TestWithParam<PlantedInModel> {};

TEST_P(TriggeredPlantedFault, IsFound) {
    const PlantedInModel& planted = GetParam();
    for (const Credits credits : planted.in) {
        const std::uint64_t before = credits == Credits::at_end ? 0 : 8;
        const std::uint64_t first = planted.near_maximum ? counts - max_in_run - before : 0;
        unsigned found = 0;
        for (unsigned seed = 0; seed < 50 && found <= 5; ++seed) {
            const auto only = seed % 2 == 0 ? planted.often : std::nullopt;
            if (!run(credits, seed, planted.fault, first, only).empty()) ++found;
        }
        EXPECT_GT(found, 5U) << name(credits);
    }
}

constexpr auto shared = Credits::at_end;
constexpr auto persistent = Credits::at_begin;
INSTANTIATE_TEST_SUITE_P(
    Each, TriggeredPlantedFault,
    testing::Values(PlantedInModel{Fault::threshold_low, {shared, persistent}, false, Collective::barrier},
                    PlantedInModel{Fault::threshold_high, {shared, persistent}},
                    PlantedInModel{Fault::no_credit, {shared, persistent}},
                    PlantedInModel{Fault::credit_early, {shared, persistent}},
                    PlantedInModel{Fault::no_credit_at_restart, {persistent}, true, Collective::barrier},
                    PlantedInModel{Fault::same_slot, {shared}, false, Collective::barrier},
                    PlantedInModel{Fault::wrong_target, {shared, persistent}},
                    PlantedInModel{Fault::in_slot_order, {persistent}},
                    PlantedInModel{Fault::no_restart, {shared, persistent}, true},
                    PlantedInModel{Fault::no_pause, {shared}, true, Collective::barrier},
                    PlantedInModel{Fault::no_pause, {persistent}, true, Collective::reduce},
                    PlantedInModel{Fault::no_level, {shared, persistent}, false, Collective::barrier},
                    PlantedInModel{Fault::stage_early, {shared, persistent}, false, Collective::allreduce},
                    PlantedInModel{
                        Fault::stage_overtaken, {shared, persistent}, false, Collective::allreduce},
                    PlantedInModel{Fault::one_result, {shared, persistent}, false, Collective::allreduce}));

}  // namespace
}  // namespace lapwing::triggered
