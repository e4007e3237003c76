#include <algorithm>
#include <bit>
#include <iterator>
#include <map>
#include <utility>

#include "recording/recording.hpp"

namespace lapwing::recording {
namespace {

// Every so many occurrences have a sample. It depends on nothing but the number of occurrences, so that ranks
// keep the same ones.
std::uint64_t stride(std::uint64_t count) {
    return std::bit_ceil((count + Times::max_samples - 1) / Times::max_samples);
}

std::uint64_t count_of(const std::vector<Node>& sequence) {
    std::uint64_t count = 0;
    for (const Node& node : sequence) count += node.is_loop() ? count_of(node.body) : node.times.count;
    return count;
}

}  // namespace

// Sums up occurrences that follow, and leaves the samples that remain with them.
void Times::summarize(std::uint64_t later, const Time& sum_of_later, std::uint64_t min_inside_of_later) {
    min_inside = count == 0 ? min_inside_of_later : std::min(min_inside, min_inside_of_later);
    sum += sum_of_later;
    const std::uint64_t step = stride(count + later);
    if (step > stride(count))
        std::erase_if(samples, [step](const auto& sample) { return sample.first % step != 0; });
}

void Times::add(const Time& time) {
    summarize(1, time, time.inside);
    if (count % stride(count + 1) == 0) samples.emplace_back(count, time);
    ++count;
}

void Times::add(const Times& later) {
    summarize(later.count, later.sum, later.min_inside);
    const std::uint64_t step = stride(count + later.count);
    for (const auto& [occurrence, time] : later.samples) {
        if ((count + occurrence) % step == 0) samples.emplace_back(count + occurrence, time);
    }
    count += later.count;
}

void Passes::add(std::uint64_t passes, std::uint64_t times) {
    if (!runs_.empty() && runs_.back().first == passes)
        runs_.back().second += times;
    else
        runs_.emplace_back(passes, times);
}

void Passes::add(const Passes& later) {
    for (const auto& [passes, times] : later.runs_) add(passes, times);
}

std::uint64_t Passes::at(std::uint64_t visit) const {
    for (const auto& [passes, times] : runs_) {
        if (visit < times) return passes;
        visit -= times;
    }
    return 0;
}

std::uint64_t Thread::count() const {
    return count_of(sequence);
}

std::vector<SharedProcessors> shared_processors(const Recording& recording) {
    std::map<std::string, std::vector<SharedProcessors>> machines;
    for (const Rank& rank : recording.each) {
        if (rank.machine.empty()) continue;
        SharedProcessors joined{{rank.rank}, rank.processors, rank.online};
        std::vector<SharedProcessors>& groups = machines[rank.machine];
        std::erase_if(groups, [&](const SharedProcessors& group) {
            const bool common = std::ranges::any_of(
                rank.processors, [&](int one) { return std::ranges::binary_search(group.processors, one); });
            if (!common) return false;
            joined.ranks.insert(joined.ranks.end(), group.ranks.begin(), group.ranks.end());
            std::vector<int> all;
            std::ranges::set_union(joined.processors, group.processors, std::back_inserter(all));
            joined.processors = std::move(all);
            return true;
        });
        groups.push_back(std::move(joined));
    }
    std::vector<SharedProcessors> found;
    for (auto& [machine, groups] : machines) {
        for (SharedProcessors& group : groups) {
            if (group.processors.empty() || group.ranks.size() <= group.processors.size()) continue;
            std::sort(group.ranks.begin(), group.ranks.end());
            found.push_back(std::move(group));
        }
    }
    std::ranges::sort(found, {}, [](const auto& group) { return group.ranks.front(); });
    return found;
}

}  // namespace lapwing::recording
