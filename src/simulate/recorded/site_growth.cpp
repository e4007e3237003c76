#include "simulate/recorded/site_growth.hpp"

#include <utility>

namespace lapwing::simulate {
namespace {

// Of one site in one recording, over all ranks.
struct Sums {
    double work = 0;
    double computations = 0;
    double bytes = 0;
    double calls = 0;
};

}  // namespace

void each_action(const std::vector<Action>& script, const std::function<void(const Action&, double)>& visit) {
    std::vector<double> times{1};
    for (const Action& action : script) {
        if (action.kind == Action::Kind::repeat) times.push_back(times.back() * action.times);
        if (action.kind == Action::Kind::end) times.pop_back();
        visit(action, times.back());
    }
}

std::uint64_t bytes_of(const ReplayOperation& operation) {
    if (operation.communicator < 0) return operation.bytes;
    if (operation.problem.parts.empty()) return operation.problem.bytes;
    std::uint64_t sum = 0;
    std::uint64_t blocks = 0;
    for (const Parts& parts : operation.problem.parts) {
        for (const Part& part : parts.sends) sum += part.bytes;
        blocks += parts.sends.size();
    }
    return blocks > 0 ? sum / blocks : 0;
}

std::vector<SiteGrowth> fit_sites(std::span<const Replay* const> recordings,
                                  const std::vector<std::vector<int>>& sites, int count) {
    std::vector<std::vector<Sums>> sums(static_cast<std::size_t>(count),
                                        std::vector<Sums>(recordings.size()));
    for (std::size_t index = 0; index < recordings.size(); ++index) {
        const Replay& recording = *recordings[index];
        for (const std::vector<Action>& script : recording.scripts.of_ranks) {
            each_action(script, [&](const Action& action, double times) {
                const int site = sites[index][static_cast<std::size_t>(action.site)];
                Sums& sum = sums[static_cast<std::size_t>(site)][index];
                if (action.kind == Action::Kind::compute) {
                    sum.work += times * static_cast<double>(action.work);
                    sum.computations += times;
                } else if (action.kind == Action::Kind::start || action.kind == Action::Kind::send) {
                    const auto operation = static_cast<std::size_t>(action.operation);
                    sum.bytes += times * static_cast<double>(bytes_of(recording.operations[operation]));
                    sum.calls += times;
                }
            });
        }
    }
    std::vector<SiteGrowth> growths;
    for (int site = 0; site < count; ++site) {
        std::vector<std::pair<double, double>> work;
        std::vector<std::pair<double, double>> bytes;
        for (std::size_t index = 0; index < recordings.size(); ++index) {
            const Sums& sum = sums[static_cast<std::size_t>(site)][index];
            const double ranks = recordings[index]->ranks;
            if (sum.computations > 0) work.emplace_back(ranks, sum.work / sum.computations);
            if (sum.calls > 0) bytes.emplace_back(ranks, sum.bytes / sum.calls);
        }
        growths.push_back({site, fit_growth(work), fit_growth(bytes)});
    }
    return growths;
}

}  // namespace lapwing::simulate
