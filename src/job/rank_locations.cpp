#include "job/rank_locations.hpp"

#include <sched.h>

#include <algorithm>
#include <cstdint>
#include <set>
#include <utility>

#include "links/tcp/addresses.hpp"
#include "topology/container.hpp"
#include "topology/location.hpp"

namespace lapwing {

bool has_spare_processors(long ranks) {
    cpu_set_t own;
    CPU_ZERO(&own);
    return 2 * ranks <= topology::processors_here() && ::sched_getaffinity(0, sizeof own, &own) == 0 &&
           CPU_COUNT(&own) > 1;
}

topology::RankLocation own_location(const topology::HostOrder& hosts) {
    return topology::rank_location(tcp::host_number(), hosts.find(tcp::host_name()),
                                   topology::locate(topology::allowed_processors()));
}

RankLocations::RankLocations(std::vector<topology::RankLocation> locations, int self)
    : locations_(std::move(locations)) {
    const std::uint64_t host = locations_[static_cast<std::size_t>(self)].host;
    const auto here = std::ranges::count(locations_, host, &topology::RankLocation::host);
    oversubscribed_ = here > topology::processors_here();
    spare_processors_ = lapwing::has_spare_processors(here);
}

bool RankLocations::on_one_host(std::span<const int> members) const {
    const auto host = [&](int member) { return locations_[static_cast<std::size_t>(member)].host; };
    return std::ranges::all_of(members, [&](int member) { return host(member) == host(members.front()); });
}

bool RankLocations::all_on_one_host() const {
    return std::ranges::all_of(
        locations_, [&](const topology::RankLocation& one) { return one.host == locations_.front().host; });
}

bool RankLocations::some_on_one_host() const {
    std::set<std::uint64_t> hosts;
    for (const topology::RankLocation& one : locations_) hosts.insert(one.host);
    return hosts.size() < locations_.size();
}

bool RankLocations::out_of_order() const {
    return std::ranges::all_of(locations_,
                               [](const topology::RankLocation& one) { return one.host_index < 0; });
}

std::shared_ptr<const Placement> RankLocations::placement_of(std::span<const int> members) const {
    std::vector<topology::RankLocation> locations;
    std::vector<std::uint64_t> hosts;
    for (const int member : members) {
        locations.push_back(locations_[static_cast<std::size_t>(member)]);
        hosts.push_back(locations.back().host);
    }
    auto placement = std::make_shared<const Placement>(hosts, topology::order_of(locations),
                                                       topology::groups_of(locations));
    const bool trivial = placement->in_rank_order() && placement->levels() == 1 &&
                         (placement->hosts() == 1 || placement->hosts() == placement->ranks());
    return trivial ? nullptr : placement;
}

}  // namespace lapwing
