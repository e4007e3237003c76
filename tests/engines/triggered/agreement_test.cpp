// Whether the engine declines the same lists on all ranks, although a rank may be in place where others are
// not.

#include "engines/triggered/engine.hpp"
#include "engines/triggered/ranks.hpp"
#include "support/in_place_forms.hpp"
#include "support/unit.hpp"
#include "task/text.hpp"

namespace lapwing {
namespace {

using namespace in_place_forms;

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

}  // namespace
}  // namespace lapwing
