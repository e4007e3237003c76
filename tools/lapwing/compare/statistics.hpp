// How much longer one of two programs takes, from runs in pairs: the Hodges-Lehmann estimate and the exact
// confidence interval of Wilcoxon's signed-rank test (Hollander and Wolfe, Nonparametric Statistical Methods,
// sections 3.2 and 3.3). Neither assumes a distribution of the noise, and single slow runs hardly change
// them.
#pragma once

#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

namespace lapwing::tool {

struct Estimate {
    double middle = 0;
    std::optional<std::pair<double, double>> interval;  // absent if the pairs are too few
};

// Of the centre of `differences`, at least one.
inline constexpr double confidence = 0.95;
Estimate estimate_centre(const std::vector<double>& differences);

// The largest rank sum whose probability to be reached from below, with so many pairs of equal programs, is
// at most `tail`. Returns nothing if there is none.
std::optional<std::size_t> critical_rank_sum(std::size_t pairs, double tail);

// Of the ratio of two programs' times from `ratios`, at least one, one for each pair of runs.
Estimate estimate_ratio(const std::vector<double>& ratios);

// Whether a comparison may stop after these pairs: its interval is narrower than the middle +- `within`.
// Comparisons look after each pair, and so prefer intervals that are narrow by chance. Intervals of this few
// pairs are wide enough for that: tests/tools/compare_test.cpp counts that still about 95 of 100 have the
// truth.
inline constexpr std::size_t min_pairs = 7;
bool narrow_enough(const std::vector<double>& ratios, double within);

// The rounds that a comparison needs besides `pairs` until it shows a difference of `within`: the width of an
// interval falls with the root of the number of pairs. Two digits, because the width is an estimate.
std::size_t rounds_to_show(double within, const std::pair<double, double>& interval, std::size_t pairs);

}  // namespace lapwing::tool
