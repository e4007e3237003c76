#include "plan/fit.hpp"

#include <algorithm>
#include <cmath>

namespace lapwing {
namespace {

// Times farther off than this count no more: what the model has not, it shall not bend the constants for.
constexpr double max_error = 2.0;  // of the natural logarithm
// So much each constant is held back where the measurements say nothing of it.
constexpr double inertia = 1e-4;
// By factors from e^1.5 to e^0.005.
constexpr double first_step = 1.5;
constexpr double last_step = 0.005;

double loss(const std::vector<Measured>& measured, const Machine& machine, const Machine& start) {
    double sum = 0;
    std::size_t count = 0;
    for (const Measured& one : measured) {
        // Among the fast ones it must tell them apart; how slow a slow one is matters less.
        const double best = one.best();
        for (const auto& [choice, seconds] : one.seconds) {
            const double cost = modelled_seconds(one.problem, choice, machine);
            if (!(cost > 0) || !(seconds > 0)) continue;
            const double error = std::min(std::abs(std::log(cost / seconds)), max_error);
            const double weight = best / seconds;
            sum += weight * error * error;
            ++count;
        }
    }
    double moved = 0;
    for (const auto& constant : machine_costs) {
        const double ratio = std::log(machine.*constant.cost / start.*constant.cost);
        moved += ratio * ratio;
    }
    return sum / static_cast<double>(std::max<std::size_t>(count, 1)) + inertia * moved;
}

template <typename Choose>
Quality quality(const std::vector<Measured>& measured, Choose choose) {
    Quality quality;
    double sum = 0;
    for (const Measured& one : measured) {
        const double* seconds = one.of(choose(one.problem));
        if (seconds == nullptr || one.seconds.size() < 2) continue;
        const double ratio = *seconds / one.best();
        ++quality.cases;
        if (ratio <= slack) ++quality.good;
        sum += std::log(ratio);
    }
    if (quality.cases > 0) quality.mean_ratio = std::exp(sum / static_cast<double>(quality.cases));
    return quality;
}

}  // namespace

double Measured::best() const {
    double least = seconds.front().second;
    for (const auto& one : seconds) least = std::min(least, one.second);
    return least;
}

const double* Measured::of(const Choice& choice) const {
    for (const auto& one : seconds) {
        if (one.first == choice) return &one.second;
    }
    return nullptr;
}

Machine fit(const std::vector<Measured>& measured, const Machine& start) {
    Machine machine = start;
    double least = loss(measured, machine, start);
    // One constant after the other, up and down: there are few, and the loss has corners.
    for (double step = first_step; step > last_step; step /= 2) {
        for (bool better = true; better;) {
            better = false;
            for (const NamedCost& named : machine_costs) {
                for (const double direction : {step, -step}) {
                    Machine other = machine;
                    other.*named.cost *= std::exp(direction);
                    const double found = loss(measured, other, start);
                    if (found >= least * (1 - 1e-6)) continue;
                    least = found;
                    machine = other;
                    better = true;
                }
            }
        }
    }
    return machine;
}

bool limit(Machine& machine) {
    bool exceeded = false;
    for (const NamedCost& constant : machine_costs) {
        double& cost = machine.*constant.cost;
        const double most = constant.per_byte() ? 1e-6 : 1;
        exceeded = exceeded || cost > most;
        cost = std::min(cost, most);
    }
    return exceeded;
}

Quality quality_of_model(const std::vector<Measured>& measured, const Machine& machine) {
    return quality(measured,
                   [&](const Problem& problem) { return candidates(problem, machine).front().choice; });
}

Quality quality_of_selection(const std::vector<Measured>& measured, const Guidance& guidance) {
    return quality(measured, [&](const Problem& problem) { return select(problem, {}, guidance).choice; });
}

}  // namespace lapwing
