#include "lapwing/predict/run.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.hpp"
#include "lapwing/common/simulated_iteration.hpp"
#include "lapwing/common/values.hpp"
#include "lapwing/predict/network.hpp"
#include "simulate/simulation.hpp"

namespace lapwing::tool {
namespace {

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

    // Of one iteration, alone or of several.
    double seconds_of(const simulate::Setting& setting, const simulate::Program& program) const {
        return seconds_of_iteration(program, study_.burst_bytes > 0,
                                    [&](const simulate::Program& of) { return simulate(setting, of).end(); });
    }

    void run(const simulate::Engine& engine) {
        simulate::Setting setting;
        setting.engine = engine;
        setting.costs = study_.costs;
        setting.parameters = study_.parameters(engine, case_.problem);
        setting.drained = study_.burst_bytes > 0;
        setting.network = network_.get();
        Predicted plain;
        plain.engine = &engine;
        plain.base = seconds_of(setting, {});
        plain.messages = lists_.messages();
        if (study_.work_factor * plain.base > simulate::max_seconds) {
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
                row.total = seconds_of(setting, program);
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

}  // namespace

std::vector<Job> jobs_of(const Study& study, std::vector<PredictedCase>& cases) {
    std::vector<Job> jobs;
    for (PredictedCase& one : cases) {
        jobs.push_back({one.of.messages, one.of.memory,
                        [&study, &one](ProgressBar& bar) { one.rows = CaseRun(study, one.of, bar).run(); }});
    }
    return jobs;
}

}  // namespace lapwing::tool
