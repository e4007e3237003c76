#include "simulate/recorded/growth.hpp"

#include <algorithm>
#include <cmath>

namespace lapwing::simulate {
namespace {

// Weak scaling, surfaces and edges of parts of a fixed whole, strong scaling; and what grows with the ranks.
constexpr double exponents[] = {-1, -2.0 / 3, -1.0 / 2, -1.0 / 3, 0, 1.0 / 3, 1.0 / 2, 2.0 / 3, 1};
// Share by which two measurements of the same run differ.
constexpr double repeatability = 0.1;

using Values = std::vector<std::pair<double, double>>;  // logarithms

// The largest distance from a line of this slope, of values that were left out if there are enough.
double distance(const Values& values, double slope) {
    double most = 0;
    for (std::size_t out = 0; out < values.size(); ++out) {
        double sum = 0;
        std::size_t count = 0;
        for (std::size_t i = 0; i < values.size(); ++i) {
            if (values.size() > 2 && i == out) continue;
            sum += values[i].second - slope * values[i].first;
            ++count;
        }
        const double line = sum / static_cast<double>(count) + slope * values[out].first;
        most = std::max(most, std::abs(values[out].second - line));
    }
    return most;
}

double power(double from, double to, double exponent) {
    return std::pow(to / from, exponent);
}

}  // namespace

double Growth::factor(double from, double to) const {
    return power(from, to, exponent);
}
double Growth::min_factor(double from, double to) const {
    return std::min(power(from, to, min_exponent), power(from, to, max_exponent));
}
double Growth::max_factor(double from, double to) const {
    return std::max(power(from, to, min_exponent), power(from, to, max_exponent));
}

Growth fit_growth(std::span<const std::pair<double, double>> values) {
    Growth growth;
    Values logarithms;
    for (const auto& [ranks, value] : values) {
        if (!(value > 0)) return growth;
        logarithms.emplace_back(std::log(ranks), std::log(value));
    }
    if (logarithms.size() < 2) return growth;
    double best = INFINITY;
    for (const double exponent : exponents) {
        const double error = distance(logarithms, exponent);
        // Of equals the one nearest to 0.
        if (error > best - 1e-12 && !(error < best + 1e-12 && std::abs(exponent) < std::abs(growth.exponent)))
            continue;
        best = error;
        growth.exponent = exponent;
    }
    growth.error = std::expm1(best);
    growth.min_exponent = growth.max_exponent = growth.exponent;
    for (const double exponent : exponents) {
        if (distance(logarithms, exponent) > best + std::log1p(repeatability) / 2) continue;
        growth.min_exponent = std::min(growth.min_exponent, exponent);
        growth.max_exponent = std::max(growth.max_exponent, exponent);
    }
    return growth;
}

}  // namespace lapwing::simulate
