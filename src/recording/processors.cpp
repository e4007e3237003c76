#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

#include "recording/recording.hpp"

namespace lapwing::recording {
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
