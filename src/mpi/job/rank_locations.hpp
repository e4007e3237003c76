// Where the ranks of MPI_COMM_WORLD run, exchanged in MPI_Init.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "links/shm/node.hpp"
#include "task/placement.hpp"
#include "topology/host_order.hpp"
#include "topology/order.hpp"

namespace lapwing {

class RankLocations {
  public:
    // Collective over MPI_COMM_WORLD: one allgather, which carries this rank's `memory`, too, and gives back
    // those of all. `hosts`: equal on all ranks.
    std::vector<shm::ShmAddress> exchange(const topology::HostOrder& hosts, const shm::ShmAddress& memory);

    // Whether anything is known; equal on all ranks.
    bool known() const { return !locations_.empty(); }
    // Members are places in MPI_COMM_WORLD. Once it is known only.
    bool on_one_host(std::span<const int> members) const;
    bool all_on_one_host() const;
    bool some_on_one_host() const;  // several ranks, on some host
    // Whether the HostOrder has none of the ranks' hosts.
    bool out_of_order() const;
    // More ranks than processors on this host.
    bool oversubscribed() const { return oversubscribed_; }
    int ranks_on_this_host() const { return ranks_here_; }
    // Of a group with these members, rank by rank; equal on all of them. Null where it would say nothing:
    // ranks stand in the order of their numbers, and one host has all of them or each host one.
    std::shared_ptr<const Placement> placement_of(std::span<const int> members) const;

  private:
    std::vector<topology::RankLocation> locations_;  // of all ranks
    bool oversubscribed_ = false;
    int ranks_here_ = 1;
};

}  // namespace lapwing
