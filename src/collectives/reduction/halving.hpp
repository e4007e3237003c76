// Reduce-scatter by recursive halving, among the core ranks of a fold: in each step two ranks exchange halves
// of their partial results, and each keeps and combines the other half. Rabenseifner 2004, "Optimization of
// Collective Reduction Operations"; Thakur, Rabenseifner, Gropp 2005, section 4.3.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "collectives/algorithm.hpp"
#include "collectives/reduction/combine.hpp"
#include "collectives/reduction/fold.hpp"

namespace lapwing::reduction {

// A byte range of the vector that is reduced.
struct Region {
    std::uint64_t begin = 0;
    std::uint64_t bytes = 0;
};

// Returns the span of a region in `memory`, which holds region `base` of the vector.
inline Span span_of(Region region, Region base, Span memory) {
    return memory.part(region.begin - base.begin, region.bytes);
}

struct HalvingStep {
    int mask = 0;  // the bit of the core rank in which the two differ
    int peer = 0;
    bool from_below = false;  // the peer's partial result is of lower ranks
    Region kept;
    Region sent;
};

class Halving {
  public:
    // Piece c of core() pieces begins at begin(c). Nearest first always combines neighbouring runs of ranks,
    // which an operator that does not commute requires. With farthest first, core rank c ends with piece c.
    enum class Order { nearest_first, farthest_first };
    Halving(const Problem& problem, const Fold& fold, int rank, Order order,
            const std::function<std::uint64_t(int)>& begin);

    const std::vector<HalvingStep>& steps() const { return steps_; }
    // The regions that the rank holds before the first step and after the last step.
    Region whole() const { return whole_; }
    Region last() const { return steps_.empty() ? whole_ : steps_.back().kept; }

    // Posts the receives. If `target` is not empty, last() arrives there; the list must not use `target`
    // before.
    void offer(Builder& list, Span target);
    // Sends, waits and combines. `held` is the whole vector; `result` is overwritten later. Returns the span
    // of last(): the target of offer(), if there was one and there is a step.
    Span run(Builder& list, Span held, Span result) const;

  private:
    const Problem& problem_;
    Region whole_;
    std::vector<HalvingStep> steps_;
    std::vector<Span> arrivals_;  // by step
    Span target_;
};

// Seconds of all steps, for pieces of one length and `bytes` bytes in total.
double cost_of_halving(double bytes, int core, const Machine& machine);

}  // namespace lapwing::reduction
