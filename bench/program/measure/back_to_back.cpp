#include "program/measure/back_to_back.hpp"

#include <algorithm>
#include <utility>

#include "program/compute/clock.hpp"

namespace lapwing::bench {
namespace {

constexpr double loop_seconds = 0.01;
// More would fill an MPI with unexpected messages.
constexpr int max_loop_iterations = 5000;
constexpr int lead_in = 3;

}  // namespace

BackToBack::BackToBack(Bench& bench, const Caller& caller, std::shared_ptr<Exchanges> exchange, bool blocking,
                       const char* quantity, std::function<void()> prepare)
    : bench_(bench),
      caller_(caller),
      exchanges_(std::move(exchange)),
      blocking_(blocking),
      quantity_(quantity),
      prepare_(std::move(prepare)) {}

void BackToBack::warm_up() {
    if (prepare_) prepare_();
    for (int i = 0; i < lead_in; ++i) run(1);
    iterations_ = bench_.settings.iterations;
    if (iterations_ == 0) fit_iterations();
    used_ = engine_used(caller_);
}

std::vector<std::function<void()>> BackToBack::phases() {
    return {[this] { sample_[quantity_] = run(iterations_) / iterations_; }};
}

nlohmann::json BackToBack::describe() const {
    return {{"engine", caller_.engine}, {"used", used_}, {"iterations", iterations_}};
}

// Seconds that `count` of them take on the slowest rank.
double BackToBack::run(int count) {
    Exchange& exchange = *exchanges_->front();
    exchange.fill(++bench_.exchanges);
    bench_.gather_ranks();
    const double begin = now();
    for (int i = 0; i < count; ++i) {
        if (blocking_) {
            exchange.call(caller_);
            continue;
        }
        MPI_Request request = MPI_REQUEST_NULL;
        exchange.start(caller_, request);
        caller_.wait(request);
    }
    const double spent = now() - begin;
    if (bench_.settings.corrupt == caller_.engine) exchange.corrupt();
    exchange.check(caller_);
    return bench_.slowest(spent);
}

// The same on all ranks, as the slowest rank's time is.
void BackToBack::fit_iterations() {
    iterations_ = 1;
    while (iterations_ < max_loop_iterations) {
        const double spent = run(iterations_);
        if (spent >= loop_seconds / 2) break;
        const double factor = std::clamp(loop_seconds / spent, 2.0, 16.0);
        iterations_ = std::min(max_loop_iterations, static_cast<int>(iterations_ * factor));
    }
}

}  // namespace lapwing::bench
