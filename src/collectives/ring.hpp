// The order of the ranks in ring algorithms: that of the placement, in which neighbours are close in the
// machine and in the network; rank order if no placement is known.
#pragma once

#include "collectives/arithmetic.hpp"
#include "task/problem.hpp"

namespace lapwing {

// The ring as seen from one rank. Distances are 0 to the number of ranks.
class Ring {
  public:
    Ring(const Problem& problem, int rank)
        : placement_(problem.placement.get()), ranks_(problem.ranks), position_(position(rank)) {}

    int above(int distance) const { return at(distance == ranks_ ? 0 : distance); }
    int below(int distance) const { return above(ranks_ - distance); }
    // The distance from this rank up to rank `other`; less than the number of ranks.
    int distance(int other) const { return relative_rank(position(other), position_, ranks_); }

  private:
    int position(int rank) const { return placement_ != nullptr ? placement_->place(rank) : rank; }
    int at(int distance) const {
        const int position = absolute_rank(distance, position_, ranks_);
        return placement_ != nullptr ? placement_->order()[static_cast<std::size_t>(position)] : position;
    }

    const Placement* placement_;
    int ranks_;
    int position_;
};

}  // namespace lapwing
