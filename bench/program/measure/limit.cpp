#include "program/measure/limit.hpp"

#include <algorithm>
#include <cmath>

#include "program/compute/clock.hpp"

namespace lapwing::bench {

void LimitLine::warm_up() {
    constexpr int most = 6;
    constexpr int max_iterations = 100;
    constexpr double phase_seconds = 0.03;
    iterations_ = 5;
    std::vector<double> seconds;
    for (int i = 0; i < iterations_; ++i) {
        bench_.gather_ranks();
        const double begin = now();
        bench_.plain->start(traffic_);
        seconds.push_back(bench_.slowest(bench_.plain->join() - begin));
    }
    // Work slows the exchange down; it is lengthened until the exchange fits into it.
    double work_seconds = 1.5 * median(seconds);
    for (int i = 0; i < most; ++i) {
        operations_ = static_cast<std::uint64_t>(work_seconds * bench_.operations_per_second) + 1;
        if (exchange().late == 0) break;
        work_seconds *= 1.4;
    }
    work_seconds *= 1.2;
    operations_ = static_cast<std::uint64_t>(work_seconds * bench_.operations_per_second) + 1;
    iterations_ = bench_.settings.iterations;
    if (iterations_ == 0) {
        iterations_ = std::clamp(static_cast<int>(phase_seconds / work_seconds), 1, max_iterations);
    }
}

std::vector<std::function<void()>> LimitLine::phases() {
    return {[this] { sample_["alone"] = alone(); },
            [this] {
                const Sample sample = exchange();
                sample_["total"] = sample.total;
                sample_["exchange"] = sample.exchange;
                sample_["late"] = sample.late;
            }};
}

nlohmann::json LimitLine::describe() const {
    return {{"iterations", iterations_}, {"block_operations", operations_}};
}

double LimitLine::alone() {
    std::vector<double> seconds;
    for (int i = 0; i < iterations_; ++i) {
        bench_.gather_ranks();
        const double begin = now();
        work(operations_);
        seconds.push_back(now() - begin);
    }
    bench_.slowest(seconds);
    return mean(seconds);
}

LimitLine::Sample LimitLine::exchange() {
    std::vector<double> total;
    std::vector<double> spent;
    std::vector<double> late;
    for (int i = 0; i < iterations_; ++i) {
        bench_.gather_ranks();
        const double begin = now();
        bench_.plain->start(traffic_);
        work(operations_);
        const double worked = now();
        const double end = bench_.plain->join();
        total.push_back(worked - begin);
        spent.push_back(end - begin);
        late.push_back(end > worked ? 1 : 0);
    }
    bench_.slowest(total);
    bench_.slowest(spent);
    bench_.slowest(late);
    return {mean(total), mean(spent), static_cast<int>(std::lround(mean(late) * iterations_))};
}

}  // namespace lapwing::bench
