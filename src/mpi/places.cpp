#include "mpi/places.hpp"

#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <set>

#include "links/tcp/addresses.hpp"
#include "topology/location.hpp"

namespace lapwing {

std::vector<shm::Card> Places::exchange(const topology::HostOrder& hosts, const shm::Card& memory) {
    struct Card {
        topology::Card place;
        shm::Card memory;
    };
    int ranks = 0;
    PMPI_Comm_size(MPI_COMM_WORLD, &ranks);
    const topology::Location location = topology::locate(topology::allowed_processors());
    const Card mine = {topology::card(tcp::host_number(), hosts.find(tcp::host_name()), location), memory};
    std::vector<Card> all(static_cast<std::size_t>(ranks));
    PMPI_Allgather(&mine, sizeof mine, MPI_BYTE, all.data(), sizeof mine, MPI_BYTE, MPI_COMM_WORLD);
    std::vector<shm::Card> memories;
    for (const Card& card : all) {
        cards_.push_back(card.place);
        memories.push_back(card.memory);
    }
    const auto here = std::count_if(cards_.begin(), cards_.end(),
                                    [&](const topology::Card& card) { return card.host == mine.place.host; });
    crowded_ = here > ::sysconf(_SC_NPROCESSORS_ONLN);
    return memories;
}

bool Places::on_one_host(std::span<const int> members) const {
    const auto host = [&](int member) { return cards_[static_cast<std::size_t>(member)].host; };
    return std::all_of(members.begin(), members.end(),
                       [&](int member) { return host(member) == host(members.front()); });
}

bool Places::all_on_one_host() const {
    return std::all_of(cards_.begin(), cards_.end(),
                       [&](const topology::Card& card) { return card.host == cards_.front().host; });
}

bool Places::some_on_one_host() const {
    std::set<std::uint64_t> hosts;
    for (const topology::Card& card : cards_) hosts.insert(card.host);
    return hosts.size() < cards_.size();
}

bool Places::out_of_order() const {
    return std::all_of(cards_.begin(), cards_.end(),
                       [](const topology::Card& card) { return card.host_place < 0; });
}

std::shared_ptr<const Placement> Places::placement_of(std::span<const int> members) const {
    std::vector<topology::Card> cards;
    std::vector<std::uint64_t> hosts;
    for (const int member : members) {
        cards.push_back(cards_[static_cast<std::size_t>(member)]);
        hosts.push_back(cards.back().host);
    }
    auto placement = std::make_shared<const Placement>(hosts, topology::order_of(cards));
    const bool says_nothing =
        placement->in_rank_order() && (placement->hosts() == 1 || placement->hosts() == placement->ranks());
    return says_nothing ? nullptr : placement;
}

}  // namespace lapwing
