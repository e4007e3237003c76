// What ranks must decide alike although they do not see the same: a rank may be in place where others are
// not.
#include <gtest/gtest.h>

#include <string>

#include "collectives/catalogue.hpp"
#include "engines/deferred_work_of_ranks.hpp"
#include "engines/triggered/engine.hpp"
#include "links/process/process_link.hpp"
#include "plan/planner.hpp"
#include "support/engines.hpp"
#include "task/sample.hpp"
#include "task/text.hpp"

namespace lapwing {
namespace {

using namespace testing_engines;

Problem in_place(Problem problem, bool is) {
    problem.in_place = is;
    return problem;
}

// Problems that a rank may know in another form than its peers, with an algorithm each.
template <typename Body>
void for_each_problem(const Body& body) {
    for (const Algorithm* const algorithm : catalogue()) {
        const Collective collective = algorithm->collective;
        if (!in_place_by_itself(collective) || has_parts(collective) || algorithm->knows_hosts) continue;
        const Choice choice{algorithm, default_parameters(*algorithm)};
        for (const int ranks : {2, 3, 4, 6, 8}) {
            for (const Problem& problem : sample_problems(collective, ranks, 40)) {
                if (!problem.in_place && algorithm->applies(problem, choice.parameters))
                    body(problem, choice);
            }
        }
    }
}

TEST(Agreement, AnAlgorithmAppliesToBothFormsOfAProblem) {
    for_each_problem([](const Problem& problem, const Choice& choice) {
        const Problem other = in_place(problem, true);
        EXPECT_TRUE(choice.algorithm->applies(other, choice.parameters)) << print(problem);
        EXPECT_EQ(print(select(problem, {}).choice), print(select(other, {}).choice)) << print(problem);
    });
}

// Whether a limit makes an engine take one form and decline the other.
TEST(Agreement, AListTakesTheSameOfTheNetworkInBothForms) {
    int accepted = 0;
    int declined = 0;
    for_each_problem([&](const Problem& problem, const Choice& choice) {
        const auto accepts = [&](bool is_in_place, const EngineOptions& options) {
            const Problem form = in_place(problem, is_in_place);
            return bool(triggered_engine().accepts(
                form, [&](int rank) { return build(form, rank, choice); }, options));
        };
        for (std::uint64_t limit = 1; limit < 60; ++limit) {
            for (const bool of_bytes : {false, true}) {
                EngineOptions options;
                options.trigger_entries = of_bytes ? 1000 : limit;
                if (of_bytes) options.trigger_bytes = limit * 8;
                const bool taken = accepts(false, options);
                EXPECT_EQ(taken, accepts(true, options))
                    << print(problem) << " " << print(choice) << ", " << limit;
                ++(taken ? accepted : declined);
            }
        }
    });
    EXPECT_GT(accepted, 0);
    EXPECT_GT(declined, 0);
}

// And of its counters, which a group sets aside in the order in which it is asked.
TEST(Agreement, APlannerOfARootAndOfAnotherRankTakeOneEngine) {
    LAPWING_NEEDS_ENGINE(triggered_engine());
    const auto links = process_links(8, true);
    int by_network = 0;
    for (std::uint64_t counters = 10; counters < 40; counters += 6) {
        for_each_problem([&](const Problem& problem, const Choice& choice) {
            if (problem.ranks != 8) return;
            EngineContext context;
            context.messages = links[0].get();
            context.deferred_work = &deferred_work();
            context.options.trigger_entries = 1000;
            context.options.trigger_counters = counters;
            PlanOptions options;
            options.engine = "triggered";
            options.requested =
                RequestedAlgorithms::parse(std::string(name(problem.collective)) + "=" + print(choice));
            Planner root(0, context, options);
            Planner another(1, context, options);
            for (const bool first : {false, true}) {
                // The root may know two problems where others know one.
                const char* const engine = root.plan(in_place(problem, first)).engine->name();
                EXPECT_STREQ(engine, another.plan(problem).engine->name())
                    << print(problem) << " " << print(choice) << ", " << counters << " counters";
                by_network += std::string(engine) == "triggered" ? 1 : 0;
            }
        });
    }
    EXPECT_GT(by_network, 0);
}

}  // namespace
}  // namespace lapwing
