// The conformance program on the emulator of a card: it passes, whatever the seed, and it finds what the
// double does wrong when one of its rules is broken.
#include "engines/mlx5/conformance.hpp"

#include <gmock/gmock.h>

#include "engines/mlx5/doubles/device.hpp"

namespace lapwing::mlx5 {
namespace {

using mlx5_double::DoubleDevice;
using mlx5_double::Fault;
using mlx5_double::Network;
using mlx5_double::Rules;
using std::chrono::milliseconds;

// The emulator rests until it has nothing left to do, however short the wait.
constexpr ConformanceLimits quick{.max_wait = milliseconds(10000), .min_wait = milliseconds(1)};

class Mlx5Conformance : public testing::TestWithParam<std::uint64_t> {};
INSTANTIATE_TEST_SUITE_P(Seeds, Mlx5Conformance,
                         testing::Range<std::uint64_t>(1, LAPWING_TEST_FEWER ? 3 : 6));

TEST_P(Mlx5Conformance, HoldsOnTheDouble) {
    Rules rules;
    rules.seed = GetParam();
    rules.delay = static_cast<unsigned>(GetParam() % 3);
    rules.strict = GetParam() % 2 == 0;
    DoubleDevice device(Network::of_process(1), rules);
    for (const Answer& answer : check_conformance(device, quick)) {
        SCOPED_TRACE(answer.name);
        EXPECT_NE(answer.outcome, Outcome::failed) << answer.found;
        EXPECT_EQ(answer.outcome == Outcome::not_asked,
                  rules.strict && answer.name == std::string("wait_plain"));
    }
    // It is refused what it asks to be refused, and no more.
    const std::vector<std::string> refusals = device.card().refusals();
    for (const std::string& refusal : refusals)
        EXPECT_THAT(refusal, testing::HasSubstr("memory that the key does not cover"));
    EXPECT_EQ(refusals.size(), 1u);
}

// The answer to one question.
Answer ask(const Rules& rules, const char* question, const ConformanceLimits& limits = quick) {
    DoubleDevice device(Network::of_process(1), rules);
    const std::vector<Answer> answers = check_conformance(device, limits, question);
    EXPECT_EQ(answers.size(), 1u);
    return answers.front();
}

// On a card counters begin at 0, and the questions of wrap-around go a long way.
TEST(Mlx5ConformanceFromAfar, IndicesWrap) {
    Rules rules;
    rules.first_send = 0xf400;
    rules.first_receive = 0;
    rules.first_completion = 0;
    rules.delay = 0;
    for (const char* const name : {"index_wrap", "enable_wrap"}) {
        const Answer answer = ask(rules, name);
        EXPECT_EQ(answer.outcome, Outcome::passed) << name << ": " << answer.found;
    }
}

struct PlantedInDouble {
    Fault fault;
    const char* question;
};
class Mlx5PlantedFault : public testing::TestWithParam<PlantedInDouble> {};
INSTANTIATE_TEST_SUITE_P(Faults, Mlx5PlantedFault,
                         testing::Values(PlantedInDouble{Fault::wait_one_early, "wait_count"},
                                         PlantedInDouble{Fault::wait_one_late, "wait_count"},
                                         PlantedInDouble{Fault::wait_never_blocks, "wait_plain"},
                                         PlantedInDouble{Fault::wait_in_16_bits, "far_wait"},
                                         PlantedInDouble{Fault::wait_forgets_overrun, "overrun"},
                                         PlantedInDouble{Fault::enable_one_more, "enable"},
                                         PlantedInDouble{Fault::enable_is_relative, "enable"},
                                         PlantedInDouble{Fault::enable_not_needed, "enable"},
                                         PlantedInDouble{Fault::enable_not_needed, "wait_master"},
                                         PlantedInDouble{Fault::enable_once, "enable"},
                                         PlantedInDouble{Fault::completion_before_data, "write"},
                                         PlantedInDouble{Fault::completion_unasked, "report"},
                                         PlantedInDouble{Fault::owner_never_turns, "write"},
                                         PlantedInDouble{Fault::order_lost, "send"},
                                         PlantedInDouble{Fault::key_not_checked, "key"}));

TEST_P(Mlx5PlantedFault, IsFound) {
    Rules rules;
    rules.delay = 0;
    rules.fault = GetParam().fault;
    const Answer answer =
        ask(rules, GetParam().question, {.max_wait = milliseconds(200), .min_wait = milliseconds(1)});
    EXPECT_EQ(answer.outcome, Outcome::failed) << answer.found;
}

}  // namespace
}  // namespace lapwing::mlx5
