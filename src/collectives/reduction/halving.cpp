#include "collectives/reduction/halving.hpp"

namespace lapwing::reduction {

Halving::Halving(const Problem& problem, const Fold& fold, int rank, Order order,
                 const std::function<std::uint64_t(int)>& begin)
    : problem_(problem) {
    const int me = fold.core_rank(rank);
    const auto region = [&](int first, int end) { return Region{begin(first), begin(end) - begin(first)}; };
    whole_ = region(0, fold.core());
    int first = 0;
    for (int pieces = fold.core(); pieces > 1; pieces /= 2) {
        HalvingStep step;
        step.mask = order == Order::nearest_first ? fold.core() / pieces : pieces / 2;
        step.peer = fold.rank_of(me ^ step.mask);
        step.from_below = (me & step.mask) != 0;
        const int middle = first + pieces / 2;
        const Region low = region(first, middle);
        const Region high = region(middle, first + pieces);
        step.kept = step.from_below ? high : low;
        step.sent = step.from_below ? low : high;
        if (step.from_below) first = middle;
        steps_.push_back(step);
    }
}

void Halving::offer(Builder& list, Span target) {
    target_ = target;
    for (const HalvingStep& step : steps_) {
        const bool lands =
            &step == &steps_.back() && target.length > 0 && may_land(problem_, step.from_below);
        arrivals_.push_back(lands ? target : list.scratch(step.kept.bytes));
        if (step.kept.bytes > 0) list.recv(step.peer, arrivals_.back());
    }
}

Span Halving::run(Builder& list, Span held, Span result) const {
    Region region = whole_;
    for (std::size_t i = 0; i < steps_.size(); ++i) {
        const HalvingStep& step = steps_[i];
        const Span kept = span_of(step.kept, region, held);
        const Span sent = span_of(step.sent, region, held);
        if (step.sent.bytes > 0) list.send(step.peer, sendable(list, sent, result));
        if (step.kept.bytes > 0) list.wait(step.peer);
        region = step.kept;
        if (i + 1 == steps_.size() && target_.length > 0) {
            combine_into(list, problem_, target_, kept, arrivals_[i], step.from_below);
            held = target_;
        } else if (may_land(problem_, step.from_below) || i == 0) {
            held = combine(list, problem_, kept, arrivals_[i], step.from_below);
        } else {
            // The kept half of an earlier step is the list's own memory and is not sent.
            combine_into(list, problem_, kept, kept, arrivals_[i], step.from_below);
            held = kept;
        }
    }
    return held;
}

double cost_of_halving(double bytes, int core, const Machine& machine) {
    return ceil_log2(core) * (machine.latency + 2 * machine.task) +
           bytes * (core - 1) / core * (machine.per_byte + machine.copy_per_byte);
}

}  // namespace lapwing::reduction
