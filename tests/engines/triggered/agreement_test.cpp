// Whether the engine declines the same lists on all ranks, although a rank may be in place where others are
// not.
#include <gtest/gtest.h>

#include <string>

#include "engines/host/engine.hpp"
#include "engines/triggered/engine.hpp"
#include "engines/triggered/ranks.hpp"
#include "links/process/process_link.hpp"
#include "plan/planner.hpp"
#include "support/engines.hpp"
#include "support/in_place_forms.hpp"
#include "task/text.hpp"

namespace lapwing {
namespace {

using namespace in_place_forms;
using namespace testing_engines;

// Whether a limit makes an engine take one form and decline the other.
TEST(TriggeredAgreement, AListTakesTheSameOfTheNetworkInBothForms) {
    int accepted = 0;
    int declined = 0;
    for_each_problem([&](const Problem& problem, const Choice& choice) {
        const auto accepts = [&](bool is_in_place, const triggered::Limits& limits) {
            const Problem form = in_place(problem, is_in_place);
            return bool(triggered::demand_of(
                            form, [&](int rank) { return build(form, rank, choice); }, limits)
                            .verdict);
        };
        for (std::uint64_t limit = 1; limit < 60; ++limit) {
            for (const bool of_bytes : {false, true}) {
                const triggered::Limits limits{of_bytes ? 1000 : limit, 0, of_bytes ? limit * 8 : 32768};
                const bool taken = accepts(false, limits);
                EXPECT_EQ(taken, accepts(true, limits))
                    << print(problem) << " " << print(choice) << ", " << limit;
                ++(taken ? accepted : declined);
            }
        }
    });
    EXPECT_GT(accepted, 0);
    EXPECT_GT(declined, 0);
}

// And of its counters, which a group sets aside in the order in which it is asked.
TEST(TriggeredAgreement, APlannerOfARootAndOfAnotherRankTakeOneEngine) {
    LAPWING_NEEDS_ENGINE(triggered_engine());
    const auto links = process_links(8, true);
    int by_network = 0;
    for (std::uint64_t counters = 10; counters < 40; counters += 6) {
        for_each_problem([&](const Problem& problem, const Choice& choice) {
            if (problem.ranks != 8) return;
            const auto engines = [&] {
                const triggered::GroupLimits limits{{1000, counters, 32768}, {}};
                return std::vector<EngineOfGroup>{
                    {&triggered_engine(),
                     [&, limits] { return open_triggered_group(deferred_work(), *links[0], limits); }},
                    {&host_engine(), [&] { return open_host_group(*links[0]); }}};
            };
            PlanOptions options;
            options.requested =
                RequestedAlgorithms::parse(std::string(name(problem.collective)) + "=" + print(choice));
            Planner root(0, engines(), options);
            Planner another(1, engines(), options);
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
