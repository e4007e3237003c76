#include "task/placement.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <unordered_map>

#include "base/error.hpp"

namespace lapwing {
namespace {

void validate(std::span<const int> order, std::size_t ranks) {
    if (order.size() != ranks) {
        throw_invalid(fmt::format("the order of {} ranks is given, and there are {}", order.size(), ranks));
    }
    std::vector<bool> seen(ranks);
    for (const int rank : order) {
        if (rank < 0 || static_cast<std::size_t>(rank) >= ranks) {
            throw_invalid(fmt::format("the order holds rank {}, which is none of the {} ranks", rank, ranks));
        }
        if (seen[static_cast<std::size_t>(rank)])
            throw_invalid(fmt::format("the order holds rank {} twice", rank));
        seen[static_cast<std::size_t>(rank)] = true;
    }
}

}  // namespace

Placement::Placement(std::span<const std::uint64_t> host_of, std::span<const int> order) {
    const std::size_t ranks = host_of.size();
    if (ranks == 0) throw_invalid("a placement has at least 1 rank");
    if (ranks > static_cast<std::size_t>(std::numeric_limits<int>::max())) throw_invalid("too many ranks");
    if (!order.empty()) validate(order, ranks);
    const auto ordered = [&](std::size_t i) { return order.empty() ? static_cast<int>(i) : order[i]; };

    std::unordered_map<std::uint64_t, int> numbers;
    std::vector<std::size_t> counts;
    host_of_.resize(ranks);
    for (std::size_t i = 0; i < ranks; ++i) {
        const auto rank = static_cast<std::size_t>(ordered(i));
        const auto [number, added] = numbers.try_emplace(host_of[rank], static_cast<int>(counts.size()));
        if (added) counts.push_back(0);
        host_of_[rank] = number->second;
        ++counts[static_cast<std::size_t>(number->second)];
    }
    begins_.push_back(0);
    for (const std::size_t count : counts) begins_.push_back(begins_.back() + count);

    order_.resize(ranks);
    place_.resize(ranks);
    std::vector<std::size_t> next(begins_.begin(), begins_.end() - 1);
    for (std::size_t i = 0; i < ranks; ++i) {
        const auto rank = static_cast<std::size_t>(ordered(i));
        const std::size_t place = next[static_cast<std::size_t>(host_of_[rank])]++;
        order_[place] = static_cast<int>(rank);
        place_[rank] = static_cast<int>(place);
    }
    describe();
}

void Placement::describe() {
    double pairs = 0;
    smallest_ = ranks();
    for (int host = 0; host < hosts(); ++host) {
        const std::span<const int> own = ranks_of(host);
        const int count = static_cast<int>(own.size());
        largest_ = std::max(largest_, count);
        smallest_ = std::min(smallest_, count);
        pairs += static_cast<double>(count) * (count - 1);
        for (std::size_t i = 1; i < own.size(); ++i) {
            default_order_ = default_order_ && own[i - 1] < own[i];
            runs_ = runs_ && own[i - 1] + 1 == own[i];
        }
        default_order_ = default_order_ && (host == 0 || ranks_of(host - 1).front() < own.front());
    }
    if (ranks() > 1) intra_node_pairs_ = pairs / (static_cast<double>(ranks()) * (ranks() - 1));
    hash_ = 0xcbf29ce484222325U;
    for (std::size_t i = 0; i < order_.size(); ++i) {
        rank_order_ = rank_order_ && order_[i] == static_cast<int>(i);
        for (const int value : {order_[i], host_of_[i]}) {
            hash_ = (hash_ ^ static_cast<std::uint64_t>(value)) * 0x9e3779b97f4a7c15U;
            hash_ ^= hash_ >> 32;
        }
    }
}

std::shared_ptr<const Placement> placement_on_hosts(std::span<const std::uint64_t> host_of) {
    auto placement = std::make_shared<const Placement>(host_of);
    if (placement->hosts() == 1 || placement->hosts() == placement->ranks()) return nullptr;
    return placement;
}

}  // namespace lapwing
