#include "predict/pipeline/study.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>

#include "base/error.hpp"
#include "common/simulated_iteration.hpp"
#include "predict/collectives.hpp"
#include "predict/head.hpp"
#include "simulate/simulation.hpp"

namespace lapwing::tool {
namespace {

std::uint64_t groups_of(const PipelineCase& one, const Problem& problem) {
    return static_cast<std::uint64_t>(one.ranks / problem.ranks);
}

void estimate_needs(const Study& study, PipelineCase& one) {
    std::vector<std::uint64_t> starts(one.pipeline.problems.size());
    for (const simulate::Action& action : one.pipeline.actions) {
        if (action.kind != simulate::Action::Kind::start) continue;
        ++starts[one.pipeline.operations[static_cast<std::size_t>(action.operation)].problem];
    }
    // Blocking, alone, and for each number of tests.
    const std::uint64_t disturbed = static_cast<std::uint64_t>(study.options.iterations) *
                                    static_cast<std::uint64_t>(study.options.rounds) *
                                    std::max<std::size_t>(study.noises.size(), study.disturbed() ? 1 : 0);
    const std::uint64_t runs = 2 + study.tests.size() + (1 + study.tests.size()) * disturbed;
    for (const std::vector<Choice>& choices : one.choices) {
        std::uint64_t memory = 0;
        for (std::size_t i = 0; i < one.pipeline.problems.size(); ++i) {
            const Problem& problem = one.pipeline.problems[i];
            simulate::Needs needs = simulate::estimate(problem, choices[i]);
            const std::uint64_t messages = needs.messages * groups_of(one, problem);
            one.messages += messages * starts[i] * runs;
            // Lists are kept once, messages for each group.
            needs.messages = messages;
            needs.ranks = i == 0 ? one.ranks : 0;
            memory += needs.memory();
        }
        one.memory = std::max(one.memory, memory);
    }
    if (const std::string refusal = one.refusal(study); !refusal.empty())
        throw Error(ErrorCode::unsupported, refusal);
}

class PipelineRun {
  public:
    PipelineRun(const Study& study, PipelineCase& one, ProgressBar& bar)
        : study_(study), case_(one), bar_(bar), network_(make_network(study.network, one.ranks)) {}

    void run() {
        for (std::size_t i = 0; i < study_.engines.size(); ++i) {
            if (i == 0 || case_.choices[i] != case_.choices[i - 1]) make_lists(case_.choices[i]);
            run(*study_.engines[i], case_.choices[i]);
        }
    }

  private:
    void make_lists(const std::vector<Choice>& choices) {
        lists_.clear();
        for (std::size_t i = 0; i < choices.size(); ++i) {
            lists_.push_back(simulate::make_lists(case_.pipeline.problems[i], choices[i], study_.memory));
        }
        operations_.clear();
        for (const Pipeline::Operation& one : case_.pipeline.operations) {
            operations_.push_back({&lists_[one.problem], one.stride, one.rotation});
        }
    }

    double seconds(const simulate::Setting& setting, const simulate::Program& program) {
        if (program.actions.empty()) return 0;
        return seconds_of_iteration(program, study_.burst_bytes > 0, [&](const simulate::Program& of) {
            simulate::Setting own = setting;
            own.program = of;
            own.advance = [this](std::uint64_t messages) { bar_.advance(static_cast<double>(messages)); };
            const simulate::Outcome outcome = simulate::simulate(case_.ranks, operations_, own);
            messages_ = outcome.messages / static_cast<std::uint64_t>(of.iterations);
            return outcome.end();
        });
    }

    void run(const simulate::Engine& engine, const std::vector<Choice>& choices) {
        const std::vector<simulate::Action>& actions = case_.pipeline.actions;
        const simulate::Setting setting = study_.setting(engine, all_ranks(case_.ranks), network_.get());
        PredictedPipeline plain;
        plain.engine = &engine;
        plain.algorithms = names_of(choices);
        for (int rank = 0; rank < case_.ranks; ++rank) {
            plain.computation = std::max(
                plain.computation, simulate::to_seconds(simulate::computation(actions, rank, case_.ranks)));
        }
        plain.communication = seconds(setting, {.actions = simulate::communication(actions)});
        const simulate::Program blocking{.actions = simulate::blocking(actions)};
        const double without_overlap = seconds(setting, blocking);
        std::vector<NoiseOfStudy> noises = study_.noises;
        if (noises.empty() && study_.disturbed()) noises.emplace_back().what = "late";
        // Without overlap tests are of no use: one simulation for all numbers of them.
        std::vector<std::vector<double>> disturbed;
        for (const NoiseOfStudy& noise : noises) disturbed.push_back(disturb(setting, blocking, noise));
        for (const int tests : study_.tests) {
            const simulate::Program program{.actions = with_tests(actions, tests)};
            PredictedPipeline row = plain;
            row.tests = tests;
            row.blocking = {without_overlap};
            row.nonblocking = {seconds(setting, program)};
            row.messages = messages_;
            case_.rows.push_back(row);
            for (std::size_t i = 0; i < noises.size(); ++i) {
                row.noise = noises[i].what;
                row.blocking = disturbed[i];
                row.nonblocking = disturb(setting, program, noises[i]);
                case_.rows.push_back(row);
            }
        }
    }

    std::vector<double> disturb(simulate::Setting setting, simulate::Program program,
                                const NoiseOfStudy& noise) {
        std::vector<double> found;
        program.iterations = study_.options.iterations;
        program.lateness = study_.lateness;
        setting.noise = noise.noise;
        for (int round = 0; round < study_.options.rounds; ++round) {
            setting.noise.seed = study_.options.seed + static_cast<std::uint64_t>(round);
            program.lateness.seed = setting.noise.seed;
            found.push_back(seconds(setting, program));
        }
        return found;
    }

    static std::string names_of(const std::vector<Choice>& choices) {
        std::vector<std::string> names;
        for (const Choice& choice : choices) {
            if (std::find(names.begin(), names.end(), print(choice)) == names.end())
                names.push_back(print(choice));
        }
        return fmt::format("{}", fmt::join(names, ", "));
    }

    const Study& study_;
    PipelineCase& case_;
    ProgressBar& bar_;
    const std::unique_ptr<simulate::Network> network_;
    std::vector<simulate::Lists> lists_;
    std::vector<simulate::Operation> operations_;
    std::uint64_t messages_ = 0;
};

}  // namespace

std::vector<PipelineCase> pipeline_cases_of(const Study& study) {
    std::vector<PipelineCase> cases;
    const bool sizes = follows_bytes(*study.pipeline);
    for (const std::uint64_t bytes : sizes ? study.bytes : std::vector<std::uint64_t>{0}) {
        for (const int ranks : study.ranks) {
            PipelineCase one{{.what = fmt::format("{}, {} ranks", study.pipeline->written, ranks)},
                             ranks,
                             bytes,
                             make_pipeline(*study.pipeline, ranks, bytes)};
            for (const Pipeline::Operation& operation : one.pipeline.operations) {
                // Lists of part of the ranks, or whose ranks change, do not follow the hosts.
                Problem& problem = one.pipeline.problems[operation.problem];
                const bool fixed = problem.ranks == ranks && operation.rotation == 0;
                problem.placement = fixed ? placement_of(study, ranks) : nullptr;
            }
            for (const simulate::Engine* engine : study.engines) {
                std::vector<Choice>& choices = one.choices.emplace_back();
                for (const Problem& problem : one.pipeline.problems) {
                    choices.push_back(choice_of(study, *engine, problem));
                }
            }
            estimate_needs(study, one);
            cases.push_back(std::move(one));
        }
    }
    return cases;
}

void simulate_case(const Study& study, PipelineCase& one, ProgressBar& bar) {
    PipelineRun(study, one, bar).run();
}

}  // namespace lapwing::tool
