#include "topology/order.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <tuple>
#include <type_traits>
#include <unordered_map>

namespace lapwing::topology {

static_assert(std::is_trivially_copyable_v<RankLocation> && sizeof(RankLocation) == 32);

RankLocation rank_location(std::uint64_t host, int host_index, const Location& location) {
    // A rank may leave a part that is smaller than its binding.
    const auto stays_in = [&](Part part, int number) { return location.bound_to <= part ? number : -1; };
    return {host,
            host_index,
            stays_in(Part::package, location.package),
            stays_in(Part::node, location.node),
            stays_in(Part::cache, location.cache),
            stays_in(Part::core, location.core),
            stays_in(Part::thread, location.thread)};
}

std::vector<int> order_of(std::span<const RankLocation> locations) {
    std::unordered_map<std::uint64_t, int> first_ranks;
    for (int rank = 0; rank < static_cast<int>(locations.size()); ++rank)
        first_ranks.emplace(locations[static_cast<std::size_t>(rank)].host, rank);
    const auto key = [&](int rank) {
        const RankLocation& own = locations[static_cast<std::size_t>(rank)];
        const int first_rank = first_ranks.at(own.host);
        // The ranks of a host may disagree: the first one decides.
        const int index = locations[static_cast<std::size_t>(first_rank)].host_index;
        return std::tuple(index >= 0 ? index : std::numeric_limits<int>::max(), first_rank, own.package,
                          own.node, own.cache, own.core, own.thread, rank);
    };
    std::vector<int> order(locations.size());
    std::iota(order.begin(), order.end(), 0);
    std::ranges::sort(order, [&](int one, int other) { return key(one) < key(other); });
    return order;
}

std::vector<std::vector<std::uint64_t>> groups_of(std::span<const RankLocation> locations) {
    std::vector<std::vector<std::uint64_t>> groups;
    for (const auto part : {&RankLocation::package, &RankLocation::node, &RankLocation::cache}) {
        std::vector<std::uint64_t>& level = groups.emplace_back();
        for (const RankLocation& location : locations)
            level.push_back(static_cast<std::uint64_t>(location.*part));
    }
    return groups;
}

}  // namespace lapwing::topology
