// Folds a group onto a core whose size is a power of two: the first ranks form pairs of neighbours. One rank
// of each pair sends its input to the other and sits out. Pairs of neighbours keep the core in rank order.
// Thakur, Rabenseifner, Gropp 2005, section 4.4.
#pragma once

#include <algorithm>

#include "collectives/arithmetic.hpp"
#include "collectives/reduction/combine.hpp"

namespace lapwing::reduction {

class Fold {
  public:
    // `kept`: a rank that must not sit out; -1: any rank may.
    explicit Fold(int ranks, int kept = -1)
        : core_(floor_power_of_two(ranks)), pairs_(ranks - core_), kept_(kept) {}

    int core() const { return core_; }
    int pairs() const { return pairs_; }
    bool paired(int rank) const { return rank / 2 < pairs_; }
    int partner(int rank) const { return rank ^ 1; }
    bool sits_out(int rank) const { return paired(rank) && rank_of(core_rank(rank)) != rank; }

    int core_rank(int rank) const { return paired(rank) ? rank / 2 : rank - pairs_; }
    int rank_of(int core_rank) const {
        if (core_rank >= pairs_) return core_rank + pairs_;
        return 2 * core_rank == kept_ ? kept_ : 2 * core_rank + 1;
    }
    // The lowest rank whose input the core rank represents; for core(), the number of ranks.
    int first_rank_of(int core_rank) const { return core_rank + std::min(core_rank, pairs_); }

  private:
    int core_;
    int pairs_;
    int kept_;
};

// Returns the list of a rank that sits out: it sends its input, `own`, to its partner and receives its
// result.
inline List build_sitting_out(const Problem& problem, int rank, int partner, Span own, Span result) {
    Builder list(problem, rank, 5);
    const Span arrival = problem.in_place ? list.scratch(result.length) : result;
    if (result.length > 0) list.recv(partner, arrival);
    if (own.length > 0) list.send(partner, sendable(list, own, result));
    if (result.length > 0) list.wait(partner);
    list.copy(result, arrival);
    return list.finish();
}

}  // namespace lapwing::reduction
