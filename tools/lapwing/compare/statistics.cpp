#include "lapwing/compare/statistics.hpp"

#include <algorithm>
#include <cmath>

namespace lapwing::tool {
std::optional<std::size_t> critical_rank_sum(std::size_t pairs, double tail) {
    // The share of the 2^pairs sets of signs that have each sum, when ranks join one after the other.
    std::vector<double> share(pairs * (pairs + 1) / 2 + 1, 0);
    share[0] = 1;
    for (std::size_t rank = 1; rank <= pairs; ++rank) {
        for (std::size_t sum = rank * (rank + 1) / 2 + 1; sum-- > 0;)
            share[sum] = (share[sum] + (sum >= rank ? share[sum - rank] : 0)) / 2;
    }
    std::size_t sums = 0;
    for (double reached = share[0]; sums + 1 < share.size() && reached <= tail; reached += share[sums])
        ++sums;
    return sums == 0 ? std::nullopt : std::optional(sums - 1);
}

Estimate estimate_centre(const std::vector<double>& differences) {
    std::vector<double> means;
    for (std::size_t i = 0; i < differences.size(); ++i) {
        for (std::size_t j = 0; j <= i; ++j) means.push_back((differences[i] + differences[j]) / 2);
    }
    std::sort(means.begin(), means.end());
    Estimate estimate{(means[(means.size() - 1) / 2] + means[means.size() / 2]) / 2, {}};
    if (const auto sum = critical_rank_sum(differences.size(), (1 - confidence) / 2))
        estimate.interval = {means[*sum], means[means.size() - 1 - *sum]};
    return estimate;
}

Estimate estimate_ratio(const std::vector<double>& ratios) {
    std::vector<double> logarithms;
    for (const double ratio : ratios) logarithms.push_back(std::log(ratio));
    Estimate estimate = estimate_centre(logarithms);
    estimate.middle = std::exp(estimate.middle);
    if (estimate.interval)
        estimate.interval = {std::exp(estimate.interval->first), std::exp(estimate.interval->second)};
    return estimate;
}

bool narrow_enough(const std::vector<double>& ratios, double within) {
    if (ratios.size() < min_pairs) return false;
    const Estimate estimate = estimate_ratio(ratios);
    return estimate.interval && estimate.interval->second - estimate.interval->first < 2 * within;
}

std::size_t rounds_to_show(double within, const std::pair<double, double>& interval, std::size_t pairs) {
    const double narrower = (interval.second - interval.first) / 2 / within;
    const double more = static_cast<double>(pairs) * (narrower * narrower - 1);
    if (more < 0.5) return 0;
    const double last_digit = std::pow(10, std::max(0.0, std::floor(std::log10(more)) - 1));
    return static_cast<std::size_t>(std::round(more / last_digit) * last_digit);
}

}  // namespace lapwing::tool
