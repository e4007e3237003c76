// A factorization with partial pivoting on one row of ranks and look-ahead of one panel, as apps/lu does it
// (HPL; Kandalla et al. 2011): blocks of columns are dealt in turn. The owner of the next panel updates and
// factors just that one first, so its broadcast is hidden behind the update of the rest.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "predict/pipeline/pipeline.hpp"

namespace lapwing::tool {
namespace {

class Factorization {
  public:
    Factorization(double n, double block, int ranks, double rate)
        : n_(n), block_(std::min(block, n)), ranks_(ranks), rate_(rate) {
        panels_ = static_cast<int>(std::ceil(n_ / block_));
    }

    Pipeline run() {
        factor(0);
        start(0);
        for (int k = 0; k < panels_; ++k) {
            pipeline_.add(simulate::wait(k % 2));
            if (k + 1 < panels_) {
                pipeline_.compute(update(k, k + 1), one(owner(k + 1)));
                factor(k + 1);
                start(k + 1);
            }
            rest(k);
        }
        return std::move(pipeline_);
    }

  private:
    static simulate::SomeRanks one(int rank) { return {.first = rank, .count = 1}; }
    int owner(int panel) const { return panel % ranks_; }
    double rows(int panel) const { return n_ - panel * block_; }
    double columns(int panel) const { return std::min(block_, rows(panel)); }

    void factor(int k) {
        const double b = columns(k);
        pipeline_.compute((rows(k) * b * b - b * b * b / 3) / rate_, one(owner(k)));
    }

    // Of the columns of panel j with panel k, by its owner: a triangle, and a product.
    double update(int k, int j) const {
        const double b = columns(k);
        return (b * b + 2 * std::max(rows(k) - b, 0.0) * b) * columns(j) / rate_;
    }

    // Of all panels that come behind the next one: the same number for each rank, and one more for some.
    void rest(int k) {
        const int count = std::max(panels_ - k - 2, 0);
        pipeline_.compute(count / ranks_ * update(k, k + 1));
        if (count % ranks_ > 0) {
            pipeline_.compute(update(k, k + 1), {.first = owner(k + 2), .count = count % ranks_});
        }
    }

    void start(int k) {
        Problem problem{.collective = Collective::broadcast, .ranks = ranks_};
        // The panel, and its pivots.
        problem.bytes = static_cast<std::uint64_t>(sizeof(double) * (rows(k) + 1) * columns(k));
        pipeline_.add(simulate::start(pipeline_.operation(problem, 1, owner(k)), k % 2));
    }

    double n_;
    double block_;
    int ranks_;
    double rate_;
    int panels_ = 0;
    Pipeline pipeline_;
};

}  // namespace

Pipeline make_lu(const PipelineOptions& options, int ranks) {
    const int per_rank = whole(options, "per_rank", 0);
    const double n =
        per_rank > 0 ? std::round(std::sqrt(static_cast<double>(per_rank) * ranks)) : whole(options, "n");
    return Factorization(n, whole(options, "block"), ranks, number(options, "gflops") * 1e9).run();
}

}  // namespace lapwing::tool
