// Where the ranks of a job run.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "task/placement.hpp"
#include "topology/host_order.hpp"
#include "topology/order.hpp"

namespace lapwing {

// Whether each of so many ranks of this host has a second processor.
bool has_spare_processors(long ranks);

// Of the calling process. `hosts` must be equal on all ranks.
topology::RankLocation own_location(const topology::HostOrder& hosts);

class RankLocations {
  public:
    RankLocations() = default;
    // `locations`: own_location() of all ranks; `self`: this rank.
    RankLocations(std::vector<topology::RankLocation> locations, int self);

    // False for a default object. Equal on all ranks.
    bool known() const { return !locations_.empty(); }
    // The functions below need known locations. `members` are ranks of the job.
    bool on_one_host(std::span<const int> members) const;
    bool all_on_one_host() const;
    bool some_on_one_host() const;  // some host has several ranks
    // Whether the HostOrder has none of the ranks' hosts.
    bool out_of_order() const;
    // Whether this host has more ranks than processors.
    bool oversubscribed() const { return oversubscribed_; }
    // The same of the job's ranks on this host.
    bool has_spare_processors() const { return spare_processors_; }
    // The placement of a group with these members, by rank; equal on all of them. Null if it is trivial: the
    // ranks are in the order of their numbers, and all are on one host, without groups inside it, or each is
    // on its own.
    std::shared_ptr<const Placement> placement_of(std::span<const int> members) const;

  private:
    std::vector<topology::RankLocation> locations_;  // by rank of the job
    bool oversubscribed_ = false;
    bool spare_processors_ = false;
};

}  // namespace lapwing
