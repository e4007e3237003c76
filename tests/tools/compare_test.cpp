
#include "lapwing/compare/statistics.hpp"
#include "support/unit.hpp"

namespace lapwing::tool {
namespace {

using ::testing::DoubleNear;
using ::testing::Pair;

// Hollander and Wolfe, table A.4, and every other table of the test: two-sided, 5 %.
TEST(Statistics, HasThePublishedCriticalValues) {
    constexpr double tail = 0.025;
    EXPECT_EQ(critical_rank_sum(5, tail), std::nullopt);
    constexpr std::pair<std::size_t, std::size_t> published[] = {
        {6, 0}, {7, 2}, {8, 3}, {9, 5}, {10, 8}, {12, 13}, {15, 25}, {20, 52}, {25, 89}};
    for (const auto& [pairs, sum] : published) EXPECT_EQ(critical_rank_sum(pairs, tail), sum) << pairs;
}

// The depression scores of Hollander and Wolfe, examples 3.1 to 3.5, which are also those of wilcox.test in
// R.
TEST(Statistics, HasThePublishedInterval) {
    constexpr double before[] = {1.83, 0.50, 1.62, 2.48, 1.68, 1.88, 1.55, 3.06, 1.30};
    constexpr double after[] = {0.878, 0.647, 0.598, 2.05, 1.06, 1.29, 1.06, 3.14, 1.29};
    std::vector<double> differences;
    for (std::size_t i = 0; i < std::size(before); ++i) differences.push_back(after[i] - before[i]);
    const Estimate estimate = estimate_centre(differences);
    EXPECT_THAT(estimate.middle, DoubleNear(-0.46, 1e-9));
    ASSERT_TRUE(estimate.interval.has_value());
    EXPECT_THAT(*estimate.interval, Pair(DoubleNear(-0.786, 1e-9), DoubleNear(-0.010, 1e-9)));
}

TEST(Statistics, HasNoIntervalOfFivePairs) {
    EXPECT_EQ(estimate_ratio({1.1, 1.2, 1.3, 1.4, 1.5}).interval, std::nullopt);
    const Estimate equal = estimate_ratio({0.5, 0.5, 0.5, 0.5, 0.5, 0.5});
    ASSERT_TRUE(equal.interval.has_value());
    EXPECT_THAT(*equal.interval, Pair(DoubleNear(0.5, 1e-9), DoubleNear(0.5, 1e-9)));
}

TEST(Statistics, HalfTheWidthTakesFourTimesThePairs) {
    EXPECT_EQ(rounds_to_show(0.01, {0.98, 1.02}, 10), 30U);
    EXPECT_EQ(rounds_to_show(0.01, {0.5, 1.5}, 7), 17000U);
    EXPECT_EQ(rounds_to_show(0.03, {0.98, 1.02}, 10), 0U);
}

// Made-up runs, the same each time.
class Machine {
  public:
    // The time of a run after this share of the comparison; 5 % of the runs take twice as long.
    double seconds(double usual, double drift, double share, double noise, int shape) {
        const double time = usual * (1 + drift * share) * std::exp(noise * deviation(shape));
        return uniform() < 0.05 ? 2 * time : time;
    }

  private:
    double uniform() {
        state_ = state_ * 6364136223846793005U + 1442695040888963407U;
        return static_cast<double>(state_ >> 11) * 0x1p-53;
    }
    double deviation(int shape) {
        const double exponential = -std::log(1 - uniform());
        if (shape == 0) return exponential;                                             // late, never early
        if (shape == 1) return uniform() < 0.5 ? exponential : -exponential;            // Laplace
        return std::sqrt(2 * exponential) * std::cos(2 * std::acos(-1.0) * uniform());  // normal
    }
    std::uint64_t state_ = 1;
};

// Comparisons as run_rounds() makes them: of 3 shapes and 3 sizes of noise on a machine that becomes slower.
TEST(Statistics, TheIntervalHasTheTruthAlsoWithEarlyStops) {
    Machine machine;
    for (const std::size_t rounds : {10U, 30U}) {
        int covered = 0;
        int stopped_early = 0;
        for (int sample = 0; sample < 1000; ++sample) {
            constexpr double noises[] = {0.003, 0.01, 0.03};
            const double noise = noises[sample % 3];
            const double drift = 0.05 + 0.15 * (sample % 4) / 3;
            const double truth = 0.8 + 0.4 * (sample % 7) / 6;
            std::vector<double> ratios;
            for (bool narrow = false; !narrow && ratios.size() < rounds;
                 narrow = narrow_enough(ratios, 0.01)) {
                const std::size_t round = ratios.size();
                double seconds[2];
                for (const std::size_t turn : {0U, 1U}) {
                    const std::size_t variant = (turn + round) % 2;
                    const double share =
                        static_cast<double>(2 * round + turn) / static_cast<double>(2 * rounds);
                    seconds[variant] =
                        machine.seconds(variant == 0 ? 1 : truth, drift, share, noise, sample / 3 % 3);
                }
                ratios.push_back(seconds[1] / seconds[0]);
            }
            const auto interval = estimate_ratio(ratios).interval;
            if (interval->first <= truth && truth <= interval->second) ++covered;
            if (ratios.size() < rounds) ++stopped_early;
        }
        EXPECT_GE(covered, 930) << rounds;
        EXPECT_LE(covered, 970) << rounds;
        EXPECT_GE(stopped_early, 100) << rounds;
        EXPECT_LE(stopped_early, 900) << rounds;
        RecordProperty(rounds == 10 ? "covered_of_10" : "covered_of_30", covered);
    }
}

}  // namespace
}  // namespace lapwing::tool
