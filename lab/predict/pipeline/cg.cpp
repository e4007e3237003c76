// Conjugate gradients for the Poisson equation in three dimensions, as apps/cg does them: the halo is hidden
// behind the inner points (Hoefler, Gottschling, Lumsdaine, Rehm 2007), and the sums behind the
// preconditioner and the product (Gropp 2010; Ghysels, Vanroose 2014).
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>

#include "base/error.hpp"
#include "lapwing/common/values.hpp"
#include "predict/pipeline/pipeline.hpp"
#include "task/parts.hpp"

namespace lapwing::tool {
namespace {

constexpr int halo_request = 0;
constexpr int sum_request = 1;
// Operations for a point.
constexpr double of_product = 8;
constexpr double of_dot = 2;
constexpr double of_update = 2;
constexpr double of_preconditioner = 1;

// As near to a cube as it gets, largest first.
std::array<int, 3> grid_of(int ranks) {
    std::array<int, 3> best{ranks, 1, 1};
    for (int z = 1; z * z * z <= ranks; ++z) {
        if (ranks % z != 0) continue;
        for (int y = z; y * y * z <= ranks; ++y) {
            const int x = ranks / z / y;
            if (ranks / z % y == 0 && x < best[0]) best = {x, y, z};
        }
    }
    return best;
}

class Box {
  public:
    Box(int ranks, double n, double rate) : ranks_(ranks), grid_(grid_of(ranks)), rate_(rate) {
        if (n < grid_[0]) {
            throw Error(ErrorCode::invalid_argument,
                        fmt::format("--pipeline cg: n is too small for {} ranks", ranks));
        }
        for (std::size_t d = 0; d < 3; ++d) length_[d] = n / grid_[d];
    }

    double seconds(double operations) const { return operations * points() / rate_; }
    // Of the points that need no neighbour's.
    double inner_share() const {
        double inner = 1;
        for (std::size_t d = 0; d < 3; ++d) {
            const int sides = std::min(grid_[d] - 1, 2);
            inner *= std::max(length_[d] - sides, 0.0) / length_[d];
        }
        return inner;
    }

    // Faces with each neighbour; at the edge of the grid there is none.
    Problem halo() const {
        Problem problem{.collective = Collective::neighbor_alltoall, .ranks = ranks_};
        std::vector<Neighbors> graph(static_cast<std::size_t>(ranks_));
        const std::array<int, 3> strides{grid_[1] * grid_[2], grid_[2], 1};
        for (int rank = 0; rank < ranks_; ++rank) {
            for (std::size_t d = 0; d < 3; ++d) {
                const int place = rank / strides[d] % grid_[d];
                for (const int step : {-1, 1}) {
                    if (place + step < 0 || place + step >= grid_[d]) continue;
                    Neighbors& own = graph[static_cast<std::size_t>(rank)];
                    own.sources.push_back(rank + step * strides[d]);
                    own.destinations.push_back(rank + step * strides[d]);
                }
            }
        }
        problem.parts = parts_of_graph(problem, graph, [&](int from, int to) {
            const int apart = std::abs(from - to);
            const std::size_t d = apart == strides[0] ? 0 : apart == strides[1] ? 1 : 2;
            return static_cast<std::uint64_t>(sizeof(double) * length_[(d + 1) % 3] * length_[(d + 2) % 3]);
        });
        problem.bytes = average_block(problem);
        return problem;
    }

    Problem sum(int numbers) const {
        Problem problem{.collective = Collective::allreduce, .ranks = ranks_};
        problem.bytes = sizeof(double) * static_cast<std::uint64_t>(numbers);
        problem.type = Type::float64;
        return problem;
    }

  private:
    double points() const { return length_[0] * length_[1] * length_[2]; }

    int ranks_;
    std::array<int, 3> grid_;
    std::array<double, 3> length_{};
    double rate_;
};

class Solver {
  public:
    explicit Solver(const Box& box) : box_(box), halo_(pipeline_.operation(box.halo())) {}

    void cg() {
        product();
        work(of_dot);
        start_sum(1);
        finish_sum();
        work(2 * of_update + of_preconditioner + of_dot);
        start_sum(1);
        finish_sum();
        work(of_update);
    }
    void gropp() {
        work(of_dot);
        start_sum(1);
        work(of_preconditioner);
        finish_sum();
        work(3 * of_update + of_dot);
        start_sum(1);
        product();
        finish_sum();
        work(2 * of_update);
    }
    void pipelined() {
        work(3 * of_dot);
        start_sum(3);
        work(of_preconditioner);
        product();
        finish_sum();
        work(8 * of_update);
    }
    Pipeline finish() { return std::move(pipeline_); }

  private:
    void work(double operations) { pipeline_.compute(box_.seconds(operations)); }
    void product() {
        pipeline_.add(simulate::start(halo_, halo_request));
        work(of_product * box_.inner_share());
        pipeline_.add(simulate::wait(halo_request));
        work(of_product * (1 - box_.inner_share()));
    }
    void start_sum(int numbers) {
        pipeline_.add(simulate::start(pipeline_.operation(box_.sum(numbers)), sum_request));
    }
    void finish_sum() { pipeline_.add(simulate::wait(sum_request)); }

    const Box& box_;
    Pipeline pipeline_;
    int halo_;
};

}  // namespace

Pipeline make_cg(const PipelineOptions& options, int ranks) {
    static const std::string solvers[] = {"cg", "gropp", "pipelined"};
    const std::size_t which = pick("solver", options.values.at("solver"), solvers);
    const int per_rank = whole(options, "per_rank", 0);
    const double n = per_rank > 0 ? std::cbrt(static_cast<double>(per_rank) * ranks) : whole(options, "n");
    const Box box(ranks, n, number(options, "gflops") * 1e9);
    Solver solver(box);
    for (int iteration = whole(options, "iterations"); iteration > 0; --iteration) {
        if (which == 0) solver.cg();
        if (which == 1) solver.gropp();
        if (which == 2) solver.pipelined();
    }
    return solver.finish();
}

}  // namespace lapwing::tool
