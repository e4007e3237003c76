#include "predict/program/study.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <numeric>
#include <set>
#include <utility>

#include "base/error.hpp"
#include "predict/collectives.hpp"
#include "predict/head.hpp"
#include "predict/program/native.hpp"
#include "simulate/networks/networks.hpp"
#include "simulate/simulation.hpp"

namespace lapwing::tool {
namespace {

// How many times all ranks together start each operation.
std::vector<double> starts_of(const simulate::Replay& replay) {
    std::vector<double> starts(replay.operations.size());
    for (const std::vector<simulate::Action>& script : replay.scripts.of_ranks) {
        std::vector<double> times{1};  // of each open loop
        for (const simulate::Action& action : script) {
            using enum simulate::Action::Kind;
            if (action.kind == repeat) times.push_back(times.back() * action.times);
            if (action.kind == end) times.pop_back();
            if (action.kind == start || action.kind == send)
                starts[static_cast<std::size_t>(action.operation)] += times.back();
        }
    }
    return starts;
}

void estimate_needs(const Study& study, ProgramCase& one) {
    const std::vector<double> starts = starts_of(one.replay);
    double messages = 0;
    one.memory = 0;
    for (std::size_t i = 0; i < starts.size(); ++i) {
        const simulate::ReplayOperation& operation = one.replay.operations[i];
        if (operation.communicator < 0) {
            messages += starts[i];
            continue;
        }
        const simulate::Needs needs =
            simulate::estimate(operation.problem, native_choice(operation.problem, operation.blocking));
        messages += starts[i] * static_cast<double>(needs.messages) / operation.problem.ranks;
        one.memory += needs.memory();
    }
    for (const auto& script : one.replay.scripts.of_ranks)
        one.memory += script.size() * sizeof(simulate::Action);
    const auto disturbed =
        static_cast<double>(study.options.rounds) * static_cast<double>(study.noises.size());
    // The calls alone, as recorded, with later waits, and with noise.
    one.messages =
        static_cast<std::uint64_t>(messages * static_cast<double>(study.engines.size()) * (3 + disturbed));
    if (const std::string refusal = one.refusal(study); !refusal.empty())
        throw Error(ErrorCode::unsupported, refusal);
}

bool names_network(const Study& study) {
    return study.network.shape != "flat" || study.network.ranks_per_host > 1 || study.network.random_places;
}

// Sets what the case's ranks share: what they are told to; or, on the hosts of the recording, what they did.
void share_cores(const Study& study, ProgramCase& one) {
    one.cores.slice = study.slice;
    if (study.cores) {
        if (*study.cores == 0 || *study.cores >= one.replay.ranks) return;
        std::vector<int> all(static_cast<std::size_t>(one.replay.ranks));
        std::iota(all.begin(), all.end(), 0);
        one.cores.groups.push_back({std::move(all), *study.cores});
    } else if (!names_network(study)) {
        for (const recording::SharedProcessors& group : one.shared_then)
            one.cores.groups.push_back({group.ranks, static_cast<int>(group.processors.size())});
    }
}

// Where ranks took turns, only the processor's time is without the turns of others.
simulate::Computation computation_of(const Study& study, bool shared) {
    using simulate::Computation;
    return study.computation.value_or(shared || study.cores.value_or(0) > 0 ? Computation::processor
                                                                            : Computation::wall);
}

// The hosts of the recording, unless the study names a network.
std::unique_ptr<simulate::Network> network_for(const Study& study, const ProgramCase& one) {
    const std::vector<std::string>& names = one.replay.hosts;
    if (names_network(study)) return make_network(study.network, one.replay.ranks);
    std::map<std::string, int> counts;
    std::map<std::string, std::int32_t> hosts;
    std::vector<std::int32_t> host_of;
    int most = 0;
    for (const std::string& name : names) {
        host_of.push_back(hosts.try_emplace(name, static_cast<std::int32_t>(hosts.size())).first->second);
        most = std::max(most, ++counts[name]);
    }
    if (most == 1) return nullptr;
    auto network = simulate::crossbar(static_cast<int>(hosts.size()), most);
    network->put(std::move(host_of));
    return network;
}

class ProgramRun {
  public:
    ProgramRun(const Study& study, ProgramCase& one, ProgressBar& bar)
        : study_(study),
          case_(one),
          bar_(bar),
          network_(network_for(study, one)),
          calls_alone_(simulate::without_computation(one.replay.scripts)),
          barrier_(all_ranks(one.replay.ranks)) {}

    void run() {
        for (const simulate::Engine* engine : study_.engines) run(*engine);
        find_bound();
    }

  private:
    const simulate::Lists* lists_of(const simulate::ReplayOperation& operation,
                                    const simulate::Engine& engine, bool native, bool blocking) {
        const Problem& problem = operation.problem;
        const bool message = operation.communicator < 0;
        const Choice choice = message  ? Choice{}
                              : native ? native_choice(problem, blocking)
                                       : choice_of(study_, engine, problem);
        std::unique_ptr<simulate::Lists>& lists = lists_[{&operation, message ? "" : print(choice)}];
        if (lists == nullptr) {
            lists = std::make_unique<simulate::Lists>(
                message ? simulate::make_message(operation.bytes)
                        : simulate::make_lists(problem, choice, study_.memory));
        }
        return lists.get();
    }

    // Lapwing takes nonblocking collectives, and blocking ones if it is told to. `moved`: no collective is
    // blocking.
    void make_operations(const simulate::Engine& engine, bool moved = false) {
        operations_.clear();
        for (const simulate::ReplayOperation& one : case_.replay.operations) {
            const bool blocking = one.blocking && !moved;
            const bool taken = engine.name != simulate::native_mpi().name && one.communicator >= 0 &&
                               (!blocking || study_.options.take_blocking);
            operations_.push_back({.lists = lists_of(one, engine, !taken, blocking),
                                   .communicator = one.communicator,
                                   .native = !taken,
                                   .synchronous = one.synchronous});
        }
    }

    simulate::Outcome simulate(simulate::Setting setting, const simulate::Scripts& scripts) const {
        setting.program.scripts = &scripts;
        setting.advance = [this](std::uint64_t messages) { bar_.advance(static_cast<double>(messages)); };
        return simulate::simulate(case_.replay.ranks, operations_, setting);
    }

    void run(const simulate::Engine& engine) {
        simulate::Setting setting = study_.setting(engine, barrier_, network_.get());
        setting.native = study_.parameters(simulate::native_mpi(), barrier_);
        setting.cores = case_.cores;
        PredictedProgram row;
        row.engine = &engine;
        make_operations(engine);
        row.communication = simulate::to_seconds(simulate(setting, calls_alone_).end());
        const simulate::Outcome outcome = simulate(setting, case_.replay.scripts);
        row.total = {simulate::to_seconds(outcome.end())};
        row.messages = outcome.messages;
        row.sites = seconds_of_sites(outcome);
        row.in_mpi = std::accumulate(row.sites.begin() + 1, row.sites.end(), 0.0);
        row.computing =
            simulate::to_seconds(*std::max_element(outcome.computing.begin(), outcome.computing.end()));
        row.mean_computing = simulate::to_seconds(std::accumulate(
                                 outcome.computing.begin(), outcome.computing.end(), simulate::Time{0})) /
                             case_.replay.ranks;
        make_operations(engine, true);
        row.sites_if_moved = seconds_of_sites(simulate(setting, simulate::with_later_waits(case_.replay)));
        make_operations(engine);
        case_.rows.push_back(row);
        for (const NoiseOfStudy& noise : study_.noises) {
            row.noise = noise.what;
            row.total.clear();
            setting.noise = noise.noise;
            for (int round = 0; round < study_.options.rounds; ++round) {
                setting.noise.seed = study_.options.seed + static_cast<std::uint64_t>(round);
                row.total.push_back(simulate::to_seconds(simulate(setting, case_.replay.scripts).end()));
            }
            case_.rows.push_back(row);
        }
    }

    // Of a rank, on average.
    std::vector<double> seconds_of_sites(const simulate::Outcome& outcome) const {
        std::vector<double> found;
        for (const simulate::Time time : outcome.sites)
            found.push_back(simulate::to_seconds(time) / static_cast<double>(case_.replay.ranks));
        return found;
    }

    void find_bound() {
        simulate::Setting setting;
        for (const simulate::Engine& engine : simulate::engines()) {
            if (engine.messages == simulate::Runner::offload) setting.engine = engine;
        }
        setting.parameters.latency = simulate::nanosecond;
        setting.native = study_.parameters(simulate::native_mpi(), barrier_);
        setting.network = network_.get();
        setting.cores = case_.cores;
        make_operations(setting.engine, true);
        case_.bound = seconds_of_sites(simulate(setting, case_.replay.scripts));
    }

    const Study& study_;
    ProgramCase& case_;
    ProgressBar& bar_;
    const std::unique_ptr<simulate::Network> network_;
    const simulate::Scripts calls_alone_;
    const Problem barrier_;  // of all ranks: whose constants hold
    std::map<std::pair<const simulate::ReplayOperation*, std::string>, std::unique_ptr<simulate::Lists>>
        lists_;
    std::vector<simulate::Operation> operations_;
};

}  // namespace

double PredictedProgram::overlap() const {
    return communication > 0 ? 1 - (total.front() - computing) / communication : 0;
}

std::vector<ProgramCase> program_cases_of(Study& study) {
    std::vector<ProgramCase> cases;
    std::set<Collective> collectives;
    for (const std::string& directory : study.options.recordings) {
        const recording::Recording recording = recording::read_recording(directory);
        auto shared = recording::shared_processors(recording);
        ProgramCase& one = cases.emplace_back();
        one.replay = simulate::make_replay(recording, computation_of(study, !shared.empty()));
        one.shared_then = std::move(shared);
        one.tells_processors = !recording.each.front().machine.empty();
        one.what = fmt::format("{} ranks", one.replay.ranks);
        share_cores(study, one);
        estimate_needs(study, one);
        study.ranks.push_back(one.replay.ranks);
        for (const simulate::ReplayOperation& operation : one.replay.operations) {
            if (operation.communicator >= 0) collectives.insert(operation.problem.collective);
        }
    }
    study.collectives.assign(collectives.begin(), collectives.end());
    return cases;
}

void simulate_case(const Study& study, ProgramCase& one, ProgressBar& bar) {
    ProgramRun(study, one, bar).run();
}

}  // namespace lapwing::tool
