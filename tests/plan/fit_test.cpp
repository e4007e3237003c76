#include "plan/fit.hpp"

#include <gtest/gtest.h>

#include "collectives/catalogue.hpp"

namespace lapwing {
namespace {

// As if each algorithm took what the model says of `machine`.
std::vector<Measured> measured_on(const Machine& machine, int ranks,
                                  const std::shared_ptr<const Placement>& placement = nullptr) {
    std::vector<Measured> all;
    for (const Collective collective : {Collective::alltoall, Collective::broadcast, Collective::allgather}) {
        for (const std::uint64_t bytes : {8U, 1U << 12, 1U << 19}) {
            Measured one{collective, ranks, bytes, measured_problem(collective, ranks, bytes), {}};
            one.problem.placement = placement;
            for (const Candidate& candidate : candidates(one.problem, machine))
                if (candidate.applies) one.seconds.emplace_back(candidate.choice, candidate.cost);
            all.push_back(one);
        }
    }
    return all;
}

TEST(Fit, FindsTheMachineThatWasMeasured) {
    const Machine machine{.latency = 90e-6, .task = 7e-6, .per_byte = 1e-9};
    const Machine found = fit(measured_on(machine, 8), {});
    EXPECT_NEAR(found.latency / machine.latency, 1, 0.1);
    EXPECT_NEAR(found.task / machine.task, 1, 0.1);
    EXPECT_NEAR(found.per_byte / machine.per_byte, 1, 0.1);
}

TEST(Fit, FindsWhatNearMessagesCost) {
    const auto hosts = std::make_shared<Placement>(std::vector<std::uint64_t>{0, 0, 0, 0, 1, 1, 1, 1});
    const Machine machine{.intra_node_latency = 4e-6, .intra_node_task = 2e-6};
    const Machine found = fit(measured_on(machine, 8, hosts), {});
    EXPECT_NEAR(found.intra_node_task / machine.intra_node_task, 1, 0.2);
    EXPECT_NEAR(found.latency / machine.latency, 1, 0.2);
    EXPECT_GT(found.intra_node_latency, Machine{}.intra_node_latency);
    // Where nothing is known of hosts, nothing is found.
    EXPECT_EQ(fit(measured_on(machine, 8), {}).intra_node_task, Machine{}.intra_node_task);
}

TEST(Fit, LeavesWhatWasNotMeasured) {
    Measured barrier{Collective::barrier, 4, 0, measured_problem(Collective::barrier, 4, 0), {}};
    for (const Candidate& candidate : candidates(barrier.problem))
        barrier.seconds.emplace_back(candidate.choice, 1e-3);
    const Machine found = fit({barrier}, {});
    EXPECT_EQ(found.per_byte, Machine{}.per_byte);
    EXPECT_GT(found.latency, Machine{}.latency);
    EXPECT_EQ(fit({}, {}).latency, Machine{}.latency);
}

TEST(Fit, SaysHowWellAChoiceDoes) {
    const Machine machine{.latency = 1e-6, .task = 50e-6};
    const std::vector<Measured> measured = measured_on(machine, 8);
    const Quality own = quality_of_model(measured, machine);
    EXPECT_EQ(own.cases, measured.size());
    EXPECT_EQ(own.good, own.cases);
    EXPECT_NEAR(own.mean_ratio, 1, 1e-9);
    const Quality other = quality_of_model(measured, {.latency = 1, .task = 0});
    EXPECT_LT(other.good, other.cases);
    EXPECT_GT(other.mean_ratio, 1.1);
}

}  // namespace
}  // namespace lapwing
