#include "lapwing/predict/run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>

#include "base/error.hpp"
#include "lapwing/common/progress_bar.hpp"
#include "lapwing/common/values.hpp"
#include "lapwing/predict/network.hpp"
#include "simulate/simulation.hpp"

namespace lapwing::tool {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) {
    return std::chrono::duration<double>(Clock::now() - begin).count();
}

constexpr int repetitions_with_bursts = 10;

// One case, by one thread.
class CaseRun {
  public:
    CaseRun(const Study& study, const Case& one, ProgressBar& bar)
        : study_(study),
          case_(one),
          bar_(bar),
          network_(make_network(study.network, one.problem.ranks)),
          lists_(simulate::make_lists(one.problem, one.choice, study.memory)) {}

    std::vector<Predicted> run() {
        for (const simulate::Engine* engine : case_.engines) run(*engine);
        return std::move(rows_);
    }

  private:
    simulate::Outcome simulate(simulate::Setting setting, const simulate::Program& program) const {
        setting.program = program;
        setting.advance = [this](std::uint64_t messages) { bar_.advance(static_cast<double>(messages)); };
        return simulate::simulate(lists_, setting);
    }

    // The first of several is faster than those that follow, as in a benchmark that warms up.
    double each_with_bursts(const simulate::Setting& setting, simulate::Program program) const {
        program.together = true;
        program.iterations = repetitions_with_bursts;
        const simulate::Time first = simulate(setting, program).end();
        program.iterations *= 2;
        return simulate::to_seconds(simulate(setting, program).end() - first) / repetitions_with_bursts;
    }

    void run(const simulate::Engine& engine) {
        simulate::Setting setting;
        setting.engine = engine;
        setting.costs = study_.costs;
        setting.parameters = study_.parameters(engine, case_.problem);
        setting.network = network_.get();
        const simulate::Outcome alone = simulate(setting, {});
        Predicted plain;
        plain.engine = &engine;
        plain.base =
            study_.burst_bytes > 0 ? each_with_bursts(setting, {}) : simulate::to_seconds(alone.end());
        plain.messages = alone.messages;
        if (study_.work_factor * plain.base > simulate::most_seconds) {
            throw Error(ErrorCode::invalid_argument,
                        fmt::format("--work: {} times {} is too long", study_.work_factor,
                                    print_seconds(plain.base)));
        }
        const simulate::Time work =
            study_.work > 0 ? study_.work : simulate::from_seconds(study_.work_factor * plain.base);
        for (const int tests : study_.tests) {
            Predicted row = plain;
            row.tests = tests;
            const simulate::Program program{.work = work, .tests = tests};
            if (work > 0) {
                row.alone = simulate::to_seconds(work);
                row.total = study_.burst_bytes > 0 ? each_with_bursts(setting, program)
                                                   : simulate::to_seconds(simulate(setting, program).end());
                row.overlap = 1 - (*row.total - *row.alone) / row.base;
            }
            if (study_.disturbed()) {
                disturb(setting, program, row);
            } else {
                rows_.push_back(row);
            }
        }
    }

    void disturb(const simulate::Setting& quiet, simulate::Program program, const Predicted& row) {
        program.iterations = study_.iterations;
        const double iterations = study_.iterations;
        const double undisturbed = simulate::to_seconds(simulate(quiet, program).end()) / iterations;
        std::vector<NoiseOfStudy> noises = study_.noises;
        if (noises.empty()) noises.emplace_back();
        program.lateness = study_.lateness;
        for (const NoiseOfStudy& noise : noises) {
            Predicted& disturbed = rows_.emplace_back(row);
            disturbed.noise = noise.what;
            disturbed.quiet = undisturbed;
            for (int round = 0; round < study_.rounds; ++round) {
                simulate::Setting setting = quiet;
                setting.noise = noise.noise;
                setting.noise.seed = study_.seed + static_cast<std::uint64_t>(round);
                program.lateness.seed = setting.noise.seed;
                disturbed.disturbed.push_back(simulate::to_seconds(simulate(setting, program).end()) /
                                              iterations);
                if (program.work > 0) {
                    disturbed.alone_disturbed.push_back(
                        simulate::to_seconds(slowest_work(setting.noise, program)) / iterations);
                }
            }
        }
    }

    // The work of all iterations without any collective.
    simulate::Time slowest_work(const simulate::Noise& noise, const simulate::Program& program) const {
        simulate::Time slowest = 0;
        for (int rank = 0; rank < case_.problem.ranks; ++rank) {
            simulate::NoiseStream processor(noise, static_cast<std::uint64_t>(rank));
            slowest = std::max(slowest, processor.finish(noise, 0, program.work * program.iterations));
        }
        return slowest;
    }

    const Study& study_;
    const Case& case_;
    ProgressBar& bar_;
    const std::unique_ptr<simulate::Network> network_;
    const simulate::Lists lists_;
    std::vector<Predicted> rows_;
};

// Hands out cases so that those that run at a time fit into the memory together.
class Runs {
  public:
    Runs(const Study& study, const std::vector<Case>& cases) : study_(study), bar_(total(cases)) {
        for (const Case& one : cases) results_.push_back({one, {}, {}, 0});
    }

    std::vector<PredictedCase> run() {
        std::vector<std::thread> threads;
        const auto count = std::min(static_cast<std::size_t>(study_.threads), results_.size());
        for (std::size_t i = 0; i < count; ++i) {
            threads.emplace_back([this] { work(); });
        }
        for (std::thread& thread : threads) thread.join();
        if (failure_) std::rethrow_exception(failure_);
        return std::move(results_);
    }

  private:
    static double total(const std::vector<Case>& cases) {
        double messages = 0;
        for (const Case& one : cases) messages += static_cast<double>(one.messages);
        return messages;
    }

    // Null when there is none left.
    PredictedCase* take() {
        std::unique_lock lock(mutex_);
        while (next_ < results_.size() && !failure_) {
            PredictedCase& one = results_[next_];
            const double needed = seconds_of(one.of.messages) / rate_;
            if (study_.seconds > 0 && seconds_since(begin_) + needed > study_.seconds) {
                one.left_out = fmt::format("it would take about {:.0f} s more", std::max(needed, 1.0));
                ++next_;
                bar_.advance(static_cast<double>(one.of.messages));
                continue;
            }
            if (running_ > 0 && in_use_ + one.of.memory > study_.memory) {
                changed_.wait(lock);
                continue;
            }
            ++next_;
            ++running_;
            in_use_ += one.of.memory;
            return &one;
        }
        return nullptr;
    }

    void work() {
        while (PredictedCase* one = take()) {
            const Clock::time_point begin = Clock::now();
            try {
                one->rows = CaseRun(study_, one->of, bar_).run();
            } catch (...) {
                const std::lock_guard lock(mutex_);
                if (!failure_) failure_ = std::current_exception();
            }
            one->seconds = seconds_since(begin);
            const std::lock_guard lock(mutex_);
            // What was estimated for a case that took long says how fast this machine is.
            if (one->seconds > 0.5) rate_ = seconds_of(one->of.messages) / one->seconds;
            --running_;
            in_use_ -= one->of.memory;
            changed_.notify_all();
        }
    }

    const Study& study_;
    ProgressBar bar_;
    const Clock::time_point begin_ = Clock::now();
    std::vector<PredictedCase> results_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::size_t next_ = 0;
    int running_ = 0;
    std::uint64_t in_use_ = 0;
    double rate_ = 1;
    std::exception_ptr failure_;
};

}  // namespace

std::vector<PredictedCase> run(const Study& study, const std::vector<Case>& cases) {
    return Runs(study, cases).run();
}

}  // namespace lapwing::tool
