#include "predict/collectives.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <numeric>

#include "base/error.hpp"
#include "base/values.hpp"
#include "collectives/catalogue.hpp"
#include "lapwing/common/values.hpp"
#include "plan/list_files.hpp"
#include "plan/selection.hpp"
#include "predict/network.hpp"
#include "simulate/simulation.hpp"

namespace lapwing::tool {
namespace {

// Every rank has a block for each other.
constexpr int max_ranks_with_parts = 4096;

}  // namespace

std::shared_ptr<const Placement> placement_of(const Study& study, int ranks) {
    const std::vector<std::int32_t> places = places_of(study.network, ranks);
    const std::vector<std::uint64_t> hosts(places.begin(), places.end());
    if (study.options.inner.any() && !study.lists_follow_hosts)
        return with_inner_groups(Placement(hosts), study.options.inner);
    if (!study.lists_follow_hosts)
        return study.network.ranks_per_host == 1 ? nullptr : placement_on_hosts(hosts);
    const std::vector<std::int32_t> along =
        order_of_hosts(study.network, 1 + *std::max_element(places.begin(), places.end()));
    const auto position = [&](int rank) {
        return along[static_cast<std::size_t>(places[static_cast<std::size_t>(rank)])];
    };
    std::vector<int> order(hosts.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(),
                     [&](int one, int other) { return position(one) < position(other); });
    return with_inner_groups(Placement(hosts, order), study.options.inner);
}

Problem problem_on(Collective collective, int ranks, std::uint64_t bytes) {
    if (has_parts(collective) && ranks > max_ranks_with_parts) {
        throw Error(ErrorCode::unsupported,
                    fmt::format("{} has a block for each pair of ranks, and is limited to {} ranks",
                                name(collective), max_ranks_with_parts));
    }
    return measured_problem(collective, ranks, bytes);
}

namespace {

// The algorithms of a collective that the study names; empty: as a run would choose.
std::vector<Choice> named_choices(const Study& study, Collective collective) {
    std::vector<Choice> choices;
    if (study.options.algorithms == "chosen") return choices;
    if (study.options.algorithms == "all") {
        for (const Algorithm* algorithm : algorithms_of(collective))
            choices.push_back({algorithm, default_parameters(*algorithm)});
        return choices;
    }
    read_list("--algorithm", study.options.algorithms, [&](const std::string& word) {
        const std::string wanted = word.substr(0, word.find(':'));
        const std::string file(list_file_of(word));
        const auto has = [&](Collective one) {
            if (!file.empty()) {
                const std::vector<const UserLists*> all = read_list_file(file);
                return std::any_of(all.begin(), all.end(), [&](const UserLists* lists) {
                    return lists->algorithm().collective == one;
                });
            }
            const auto all = algorithms_of(one);
            return std::any_of(all.begin(), all.end(), [&](const Algorithm* a) { return a->name == wanted; });
        };
        // Of several collectives not all need to have it; of none, the message names the nearest.
        if (has(collective) || std::none_of(study.collectives.begin(), study.collectives.end(), has))
            choices.push_back(read_choice(collective, word));
        return word;
    });
    return choices;
}

}  // namespace

Choice choice_of(const Study& study, const simulate::Engine& engine, const Problem& problem) {
    for (const Choice& choice : named_choices(study, problem.collective))
        if (choice.applies(problem)) return choice;
    const Guidance guidance{study.tuning ? &*study.tuning : nullptr, {engine.tuned, true}};
    return select(problem, {}, guidance).choice;
}

namespace {

// How many times the messages of one run of the lists are simulated, for one engine.
std::uint64_t runs_of(const Study& study) {
    const std::uint64_t tests = study.tests.size();
    std::uint64_t runs = 1;
    if (study.work_factor > 0 || study.work > 0) runs += tests;
    if (study.disturbed()) {
        const std::uint64_t disturbances = std::max<std::size_t>(study.noises.size(), 1);
        runs += tests * static_cast<std::uint64_t>(study.options.iterations) *
                (1 + disturbances * static_cast<std::uint64_t>(study.options.rounds));
    }
    return runs;
}

void add_case(const Study& study, const Problem& problem, std::uint64_t bytes, const Choice& choice,
              const std::vector<const simulate::Engine*>& engines, Cases& found) {
    const Verdict verdict = choice.applies(problem);
    if (!verdict) {
        found.declined.push_back({problem, choice, verdict.reason()});
        return;
    }
    const simulate::Needs needs = simulate::estimate(problem, choice);
    const std::string size = problem.collective == Collective::barrier ? "" : ", " + counted(bytes, "byte");
    Case one{{fmt::format("{}{}, {}, {}", name(problem.collective), size, counted(problem.ranks, "rank"),
                          print(choice)),
              needs.messages * engines.size() * runs_of(study), needs.memory()},
             problem,
             bytes,
             choice,
             engines};
    if (const auto network = make_network(study.network, problem.ranks))
        one.memory += network->links() * sizeof(simulate::Time);
    if (const std::string refusal = one.refusal(study); !refusal.empty()) {
        // What was asked for by its name is not left out in silence.
        if (study.options.algorithms != "all") throw Error(ErrorCode::unsupported, refusal);
        found.too_large.push_back(refusal);
        return;
    }
    found.cases.push_back(std::move(one));
}

void add_chosen(const Study& study, const Problem& problem, std::uint64_t bytes, Cases& found) {
    // Engines that choose the same algorithm share its lists.
    std::vector<std::pair<Choice, std::vector<const simulate::Engine*>>> chosen;
    for (const simulate::Engine* engine : study.engines) {
        const Choice choice = choice_of(study, *engine, problem);
        const auto same =
            std::find_if(chosen.begin(), chosen.end(), [&](const auto& one) { return one.first == choice; });
        if (same != chosen.end())
            same->second.push_back(engine);
        else
            chosen.push_back({choice, {engine}});
    }
    for (const auto& [choice, engines] : chosen) add_case(study, problem, bytes, choice, engines, found);
}

}  // namespace

Cases cases_of(const Study& study) {
    Cases found;
    for (const Collective collective : study.collectives) {
        const std::vector<Choice> choices = named_choices(study, collective);
        const bool barrier = collective == Collective::barrier;
        for (const std::uint64_t bytes : barrier ? std::vector<std::uint64_t>{0} : study.bytes) {
            for (const int ranks : study.ranks) {
                Problem problem = problem_on(collective, ranks, bytes);
                problem.placement = placement_of(study, ranks);
                if (study.options.algorithms == "chosen") add_chosen(study, problem, bytes, found);
                for (const Choice& choice : choices)
                    add_case(study, problem, bytes, choice, study.engines, found);
            }
        }
    }
    if (found.cases.empty()) {
        std::string why;
        for (const Declined& one : found.declined) {
            why += fmt::format("{}{} on {} ranks: {}", why.empty() ? "" : "; ", print(one.choice),
                               one.problem.ranks, one.why);
        }
        for (const std::string& one : found.too_large)
            why += fmt::format("{}{}", why.empty() ? "" : "; ", one);
        throw Error(ErrorCode::unsupported, fmt::format("nothing can be simulated: {}", why));
    }
    return found;
}

namespace {

// One case, by one thread.
class CaseRun {
  public:
    CaseRun(const Study& study, Case& one, ProgressBar& bar)
        : study_(study),
          case_(one),
          bar_(bar),
          network_(make_network(study.network, one.problem.ranks)),
          lists_(simulate::make_lists(one.problem, one.choice, study.memory)) {}

    void run() {
        for (const simulate::Engine* engine : case_.engines) run(*engine);
    }

  private:
    simulate::Outcome simulate(simulate::Setting setting, const simulate::Program& program) const {
        setting.program = program;
        setting.advance = [this](std::uint64_t messages) { bar_.advance(static_cast<double>(messages)); };
        return simulate::simulate(lists_, setting);
    }

    // Of one iteration, alone or of several.
    double seconds_of(const simulate::Setting& setting, const simulate::Program& program) const {
        return simulate::to_seconds(simulate(setting, program).end());
    }

    void run(const simulate::Engine& engine) {
        const simulate::Setting setting = study_.setting(engine, case_.problem, network_.get());
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
            if (study_.disturbed())
                disturb(setting, program, row);
            else
                case_.rows.push_back(row);
        }
    }

    void disturb(const simulate::Setting& quiet, simulate::Program program, const Predicted& row) {
        program.iterations = study_.options.iterations;
        const double iterations = study_.options.iterations;
        const double undisturbed = simulate::to_seconds(simulate(quiet, program).end()) / iterations;
        std::vector<NoiseOfStudy> noises = study_.noises;
        if (noises.empty()) noises.emplace_back();
        program.lateness = study_.lateness;
        for (const NoiseOfStudy& noise : noises) {
            Predicted& disturbed = case_.rows.emplace_back(row);
            disturbed.noise = noise.what;
            disturbed.quiet = undisturbed;
            for (int round = 0; round < study_.options.rounds; ++round) {
                simulate::Setting setting = quiet;
                setting.noise = noise.noise;
                setting.noise.seed = study_.options.seed + static_cast<std::uint64_t>(round);
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
    Case& case_;
    ProgressBar& bar_;
    const std::unique_ptr<simulate::Network> network_;
    const simulate::Lists lists_;
};

}  // namespace

void simulate_case(const Study& study, Case& one, ProgressBar& bar) {
    CaseRun(study, one, bar).run();
}

}  // namespace lapwing::tool
