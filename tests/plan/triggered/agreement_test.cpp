// Whether the planners of all ranks take the same engine, although a rank may be in place where others are
// not.

#include "engines/host/engine.hpp"
#include "engines/triggered/engine.hpp"
#include "engines/triggered/ranks.hpp"
#include "plan/planner.hpp"
#include "support/engines.hpp"
#include "support/in_place_forms.hpp"
#include "support/process_link.hpp"
#include "support/unit.hpp"
#include "task/text.hpp"

namespace lapwing {
namespace {

using namespace in_place_forms;
using namespace testing_engines;

// The engine's counters, which a group sets aside in the order in which it is asked.
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
