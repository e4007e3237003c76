#include "mpi/job/rank_locations.hpp"

#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <set>

#include "links/tcp/addresses.hpp"
#include "topology/location.hpp"

namespace lapwing {

std::vector<shm::ShmAddress> RankLocations::exchange(const topology::HostOrder& hosts,
                                                     const shm::ShmAddress& memory) {
    struct Card {
        topology::RankLocation place;
        shm::ShmAddress memory;
    };
    int ranks = 0;
    PMPI_Comm_size(MPI_COMM_WORLD, &ranks);
    const topology::Location location = topology::locate(topology::allowed_processors());
    const Card mine = {topology::rank_location(tcp::host_number(), hosts.find(tcp::host_name()), location),
                       memory};
    std::vector<Card> all(static_cast<std::size_t>(ranks));
    PMPI_Allgather(&mine, sizeof mine, MPI_BYTE, all.data(), sizeof mine, MPI_BYTE, MPI_COMM_WORLD);
    std::vector<shm::ShmAddress> memories;
    for (const Card& card : all) {
        locations_.push_back(card.place);
        memories.push_back(card.memory);
    }
    const auto here =
        std::count_if(locations_.begin(), locations_.end(),
                      [&](const topology::RankLocation& card) { return card.host == mine.place.host; });
    ranks_here_ = static_cast<int>(here);
    oversubscribed_ = here > ::sysconf(_SC_NPROCESSORS_ONLN);
    return memories;
}

bool RankLocations::on_one_host(std::span<const int> members) const {
    const auto host = [&](int member) { return locations_[static_cast<std::size_t>(member)].host; };
    return std::all_of(members.begin(), members.end(),
                       [&](int member) { return host(member) == host(members.front()); });
}

bool RankLocations::all_on_one_host() const {
    return std::all_of(locations_.begin(), locations_.end(), [&](const topology::RankLocation& card) {
        return card.host == locations_.front().host;
    });
}

bool RankLocations::some_on_one_host() const {
    std::set<std::uint64_t> hosts;
    for (const topology::RankLocation& card : locations_) hosts.insert(card.host);
    return hosts.size() < locations_.size();
}

bool RankLocations::out_of_order() const {
    return std::all_of(locations_.begin(), locations_.end(),
                       [](const topology::RankLocation& card) { return card.host_index < 0; });
}

std::shared_ptr<const Placement> RankLocations::placement_of(std::span<const int> members) const {
    std::vector<topology::RankLocation> locations;
    std::vector<std::uint64_t> hosts;
    for (const int member : members) {
        locations.push_back(locations_[static_cast<std::size_t>(member)]);
        hosts.push_back(locations.back().host);
    }
    auto placement = std::make_shared<const Placement>(hosts, topology::order_of(locations));
    const bool says_nothing =
        placement->in_rank_order() && (placement->hosts() == 1 || placement->hosts() == placement->ranks());
    return says_nothing ? nullptr : placement;
}

}  // namespace lapwing
