#include <algorithm>
#include <bit>
#include <iterator>
#include <map>
#include <utility>

#include "recording/recording.hpp"

namespace lapwing::recording {
namespace {

void add(Summary& summary, bool first, const Summary& other) {
    summary.sum += other.sum;
    summary.min = first ? other.min : std::min(summary.min, other.min);
    summary.max = std::max(summary.max, other.max);
    summary.squares += other.squares;
}

Summary summary_of(std::uint64_t value) {
    return {value, value, value, static_cast<double>(value) * static_cast<double>(value)};
}

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

void Times::add(const Time& time) {
    const bool first = count == 0;
    recording::add(processor, first, summary_of(time.processor));
    recording::add(wall, first, summary_of(time.wall));
    recording::add(inside, first, summary_of(time.inside));
    recording::add(polls, first, summary_of(time.polls));
    thin_out(1);
    if (count % stride(count + 1) == 0) samples.emplace_back(count, time);
    ++count;
}

// Leaves the samples that remain if so many occurrences follow.
void Times::thin_out(std::uint64_t later) {
    const std::uint64_t step = stride(count + later);
    if (step > stride(count))
        std::erase_if(samples, [step](const auto& sample) { return sample.first % step != 0; });
}

void Times::add(const Times& later) {
    const bool first = count == 0;
    recording::add(processor, first, later.processor);
    recording::add(wall, first, later.wall);
    recording::add(inside, first, later.inside);
    recording::add(polls, first, later.polls);
    thin_out(later.count);
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

std::uint64_t Passes::visits() const {
    std::uint64_t visits = 0;
    for (const auto& run : runs_) visits += run.second;
    return visits;
}

std::uint64_t Passes::sum() const {
    std::uint64_t sum = 0;
    for (const auto& [passes, times] : runs_) sum += passes * times;
    return sum;
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

namespace {

// Takes what `other` has into the group.
void take(SharedProcessors& group, const SharedProcessors& other) {
    group.ranks.insert(group.ranks.end(), other.ranks.begin(), other.ranks.end());
    std::vector<int> all;
    std::set_union(group.processors.begin(), group.processors.end(), other.processors.begin(),
                   other.processors.end(), std::back_inserter(all));
    group.processors = std::move(all);
}

bool have_common(const std::vector<int>& a, const std::vector<int>& b) {
    return std::any_of(a.begin(), a.end(),
                       [&](int one) { return std::binary_search(b.begin(), b.end(), one); });
}

}  // namespace

std::vector<SharedProcessors> shared_processors(const Recording& recording) {
    std::map<std::string, std::vector<SharedProcessors>> machines;
    for (const Rank& rank : recording.each) {
        if (rank.machine.empty()) continue;
        SharedProcessors joined{{rank.rank}, rank.processors, rank.online};
        std::vector<SharedProcessors>& groups = machines[rank.machine];
        std::erase_if(groups, [&](const SharedProcessors& group) {
            const bool common = have_common(rank.processors, group.processors);
            if (common) take(joined, group);
            return common;
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
    std::sort(found.begin(), found.end(),
              [](const auto& a, const auto& b) { return a.ranks.front() < b.ranks.front(); });
    return found;
}

}  // namespace lapwing::recording
