#include "program/measure/polled.hpp"

#include <algorithm>

#include "program/compute/clock.hpp"

namespace lapwing::bench {

void PolledLine::warm_up() {
    subject_->warm_up();
    const Bench& bench = subject_->bench();
    const double wanted = bench.settings.quantum_seconds;
    quantum_.kind = bench.settings.compute;
    quantum_.seconds = wanted > 0 ? wanted : std::clamp(subject_->base_seconds() / 100, 1e-6, 1e-4);
    quantum_.amount = static_cast<std::uint64_t>(quantum_.seconds * bench.operations_per_second) + 1;
}

std::vector<std::function<void()>> PolledLine::phases() {
    return {[this] {
                subject_->lead_in();
                sample_["base"] = subject_->base();
            },
            [this] { measure(); }};
}

nlohmann::json PolledLine::describe() const {
    nlohmann::json result = SubjectLine::describe();
    quantum_.describe(result);
    return result;
}

// What part of the time was left for work is summed over ranks and iterations: a rank whose part is done
// at once (the root of a broadcast of few bytes) counts with its short time.
void PolledLine::measure() {
    std::vector<double> start;
    std::vector<double> total;
    std::vector<std::uint64_t> quanta;
    subject_->lead_in();
    for (int i = 0; i < subject_->iterations(); ++i) {
        const auto moments = subject_->start();
        std::uint64_t done = 0;
        do {
            quantum_.run();
            ++done;
        } while (!subject_->test());
        total.push_back(now() - moments.begin);
        start.push_back(moments.started - moments.begin);
        quanta.push_back(done);
        subject_->check();
    }
    double alone = 0;
    for (const std::uint64_t count : quanta) {
        subject_->bench().gather_ranks();
        const double begin = now();
        for (std::uint64_t i = 0; i < count; ++i) quantum_.run();
        alone += now() - begin;
    }
    const int iterations = subject_->iterations();
    std::vector<double> sums{alone, mean(total) * iterations};
    subject_->bench().sum(sums);
    sample_["work_of_all"] = sums[0] / iterations;
    sample_["total_of_all"] = sums[1] / iterations;
    keep("start", start);
    keep("total", total);
}

}  // namespace lapwing::bench
