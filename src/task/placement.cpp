#include "task/placement.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <unordered_map>
#include <utility>

#include "base/error.hpp"

namespace lapwing {
namespace {

void validate(std::span<const int> order, std::size_t ranks) {
    if (order.size() != ranks) {
        throw_invalid(fmt::format("the order has {} ranks, but the group has {}", order.size(), ranks));
    }
    std::vector<bool> seen(ranks);
    for (const int rank : order) {
        if (rank < 0 || static_cast<std::size_t>(rank) >= ranks) {
            throw_invalid(fmt::format("the order contains rank {}, but the group has {} ranks", rank, ranks));
        }
        if (seen[static_cast<std::size_t>(rank)])
            throw_invalid(fmt::format("the order contains rank {} twice", rank));
        seen[static_cast<std::size_t>(rank)] = true;
    }
}

}  // namespace

Placement::Placement(std::span<const std::uint64_t> host_of, std::span<const int> order,
                     std::span<const std::vector<std::uint64_t>> inner) {
    const std::size_t ranks = host_of.size();
    if (ranks == 0) throw_invalid("a placement has at least 1 rank");
    if (ranks > static_cast<std::size_t>(std::numeric_limits<int>::max())) throw_invalid("too many ranks");
    if (!order.empty()) validate(order, ranks);
    for (const std::vector<std::uint64_t>& numbers : inner) {
        if (numbers.size() != ranks) {
            throw_invalid(
                fmt::format("the groups of {} ranks are given, but the group has {}", numbers.size(), ranks));
        }
    }
    order_.assign(order.begin(), order.end());
    if (order.empty()) {
        order_.resize(ranks);
        std::iota(order_.begin(), order_.end(), 0);
    }
    add_level(host_of);
    for (const std::vector<std::uint64_t>& numbers : inner) add_level(numbers);
    place_.resize(ranks);
    for (std::size_t place = 0; place < ranks; ++place)
        place_[static_cast<std::size_t>(order_[place])] = static_cast<int>(place);
    describe();
}

// Sorts order_ by the groups of the new level.
void Placement::add_level(std::span<const std::uint64_t> numbers) {
    const bool outermost = levels_.empty();
    std::unordered_map<std::uint64_t, int> groups_of_parent;
    std::vector<std::size_t> counts;
    std::vector<int> group_of(order_.size());
    int parent = 0;
    for (const int rank : order_) {
        // The ranks of each parent are consecutive.
        if (!outermost && levels_.back().group_of[static_cast<std::size_t>(rank)] != parent) {
            ++parent;
            groups_of_parent.clear();
        }
        const auto [group, added] = groups_of_parent.try_emplace(numbers[static_cast<std::size_t>(rank)],
                                                                 static_cast<int>(counts.size()));
        if (added) counts.push_back(0);
        group_of[static_cast<std::size_t>(rank)] = group->second;
        ++counts[static_cast<std::size_t>(group->second)];
    }
    if (!outermost && (counts.size() == levels_.back().begins.size() - 1 || counts.size() == order_.size()))
        return;
    std::vector<std::size_t> begins = {0};
    for (const std::size_t count : counts) begins.push_back(begins.back() + count);
    std::vector<std::size_t> next(begins.begin(), begins.end() - 1);
    std::vector<int> sorted(order_.size());
    for (const int rank : order_)
        sorted[next[static_cast<std::size_t>(group_of[static_cast<std::size_t>(rank)])]++] = rank;
    order_ = std::move(sorted);
    levels_.push_back({std::move(group_of), std::move(begins)});
}

void Placement::describe() {
    double pairs = 0;
    smallest_ = ranks();
    int before = -1;  // smallest rank of the host before
    for (int host = 0; host < hosts(); ++host) {
        const std::span<const int> own = ranks_of(host);
        const int count = static_cast<int>(own.size());
        largest_ = std::max(largest_, count);
        smallest_ = std::min(smallest_, count);
        pairs += static_cast<double>(count) * (count - 1);
        const int smallest_rank = *std::min_element(own.begin(), own.end());
        hosts_in_rank_order_ = hosts_in_rank_order_ && before < smallest_rank;
        before = smallest_rank;
        for (std::size_t i = 1; i < own.size(); ++i) runs_ = runs_ && own[i - 1] + 1 == own[i];
    }
    if (ranks() > 1) intra_node_pairs_ = pairs / (static_cast<double>(ranks()) * (ranks() - 1));
    widths_.push_back(hosts());
    // In the default order, the first rank of each group is its smallest one, and siblings are sorted by it.
    for (int level = 0; level < levels(); ++level) {
        const bool innermost = level + 1 == levels();
        int width = 0;
        int children = 0;
        for (int group = 0; group < groups(level); ++group) {
            const std::span<const int> own = ranks_of(level, group);
            const int first = innermost ? 0 : children;
            children = innermost ? static_cast<int>(own.size()) : group_of(level + 1, own.back()) + 1;
            width = std::max(width, children - first);
            for (int i = first + 1; i < children; ++i) {
                const auto front = [&](int child) {
                    return innermost ? own[static_cast<std::size_t>(child)]
                                     : ranks_of(level + 1, child).front();
                };
                default_order_ = default_order_ && front(i - 1) < front(i);
            }
        }
        widths_.push_back(width);
    }
    for (int host = 1; host < hosts(); ++host)
        default_order_ = default_order_ && ranks_of(host - 1).front() < ranks_of(host).front();
    hash_ = 0xcbf29ce484222325U;
    const auto add = [this](int value) {
        hash_ = (hash_ ^ static_cast<std::uint64_t>(value)) * 0x9e3779b97f4a7c15U;
        hash_ ^= hash_ >> 32;
    };
    for (std::size_t i = 0; i < order_.size(); ++i) {
        rank_order_ = rank_order_ && order_[i] == static_cast<int>(i);
        add(order_[i]);
        for (const Level& level : levels_) add(level.group_of[i]);
    }
}

std::shared_ptr<const Placement> placement_on_hosts(std::span<const std::uint64_t> host_of) {
    auto placement = std::make_shared<const Placement>(host_of);
    if (placement->hosts() == 1 || placement->hosts() == placement->ranks()) return nullptr;
    return placement;
}

}  // namespace lapwing
