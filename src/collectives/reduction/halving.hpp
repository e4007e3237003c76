// Reduce-scatter by recursive halving, among the core ranks of a fold: in each step two ranks exchange the
// halves of what they hold that the other keeps. Rabenseifner 2004, "Optimization of Collective Reduction
// Operations"; Thakur, Rabenseifner, Gropp 2005, section 4.3.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "collectives/algorithm.hpp"
#include "collectives/reduction/combine.hpp"
#include "collectives/reduction/fold.hpp"

namespace lapwing::reduction {

// Bytes of the vector that is reduced.
struct Region {
    std::uint64_t begin = 0;
    std::uint64_t bytes = 0;
};

// That region, in memory where `base` of the vector stands.
inline Span place_of(Region region, Region base, Span memory) {
    return memory.part(region.begin - base.begin, region.bytes);
}

struct HalvingStep {
    int mask = 0;  // the bit of the core rank in which the two differ
    int peer = 0;
    bool from_below = false;  // what the peer holds comes from lower ranks
    Region kept;
    Region sent;
};

class Halving {
  public:
    // Piece c of core() pieces begins at begin(c). With the nearest rank first, what is combined are always
    // neighbouring runs of ranks, as an operator that does not commute needs it; with the farthest first,
    // core rank c ends with piece c.
    enum class Order { nearest_first, farthest_first };
    Halving(const Problem& problem, const Fold& fold, int rank, Order order,
            const std::function<std::uint64_t(int)>& begin);

    const std::vector<HalvingStep>& steps() const { return steps_; }
    // What the rank holds before the first step, and after the last one.
    Region whole() const { return whole_; }
    Region last() const { return steps_.empty() ? whole_ : steps_.back().kept; }

    // Posts the receives. `place`, if not empty, is where last() is wanted, and nobody uses it before.
    void offer(Builder& list, Span place);
    // Of `held`, all of the vector: sends, waits, combines. `result` is what will be overwritten. Says where
    // last() stands: in the place that was wanted, if there was one and a step.
    Span run(Builder& list, Span held, Span result) const;

  private:
    const Problem& problem_;
    Region whole_;
    std::vector<HalvingStep> steps_;
    std::vector<Span> arrivals_;  // by step
    Span place_;
};

// Seconds of all steps, for pieces of one length that are `bytes` in all.
double cost_of_halving(double bytes, int core, const Machine& machine);

}  // namespace lapwing::reduction
