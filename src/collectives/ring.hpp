// The ring in which lists go through the ranks: in the order of the placement, so that neighbours in the
// machine and in the network pass blocks to each other; by their numbers where no placement is known.
#pragma once

#include "collectives/arithmetic.hpp"
#include "task/problem.hpp"

namespace lapwing {

// As seen from one rank. Distances are 0 to the number of ranks.
class Ring {
  public:
    Ring(const Problem& problem, int rank)
        : placement_(problem.placement.get()), ranks_(problem.ranks), place_(place(rank)) {}

    int above(int distance) const { return at(distance == ranks_ ? 0 : distance); }
    int below(int distance) const { return above(ranks_ - distance); }
    // How far above this rank the other one stands; less than the number of ranks.
    int distance(int other) const { return relative_rank(place(other), place_, ranks_); }

  private:
    int place(int rank) const { return placement_ != nullptr ? placement_->place(rank) : rank; }
    int at(int distance) const {
        const int place = absolute_rank(distance, place_, ranks_);
        return placement_ != nullptr ? placement_->order()[static_cast<std::size_t>(place)] : place;
    }

    const Placement* placement_;
    int ranks_;
    int place_;
};

}  // namespace lapwing
