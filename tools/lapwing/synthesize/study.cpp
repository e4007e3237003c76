#include "lapwing/synthesize/study.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.hpp"
#include "collectives/user_lists.hpp"
#include "lapwing/common/simulated_costs.hpp"
#include "plan/selection.hpp"
#include "simulate/networks/networks.hpp"
#include "simulate/simulation.hpp"
#include "synthesis/exact.hpp"

namespace lapwing::tool {
namespace {

// Of a network whose links are missing: nothing is sent there.
constexpr double slowness_of_no_link = 1e6;
// Transfers of one search: larger ones take minutes.
constexpr std::size_t max_transfers = 4096;

// Numbers of chunks that may be the best: few for short blocks, many for long ones.
std::vector<int> default_pieces(const Problem& problem) {
    std::vector<int> pieces = {1, 2, 4};
    const int ranks = problem.ranks;
    const bool whole = problem.collective == Collective::allreduce ||
                       problem.collective == Collective::broadcast ||
                       problem.collective == Collective::reduce;
    if (whole) pieces.insert(pieces.end(), {8, 16, ranks, 2 * ranks});
    std::sort(pieces.begin(), pieces.end());
    pieces.erase(std::unique(pieces.begin(), pieces.end()), pieces.end());
    const std::uint64_t elements = problem.bytes / problem.element_bytes();
    std::erase_if(pieces, [&](int one) {
        const std::size_t transfers =
            synthesis::routes_of(problem, one).chunks.size() * static_cast<std::size_t>(ranks);
        return one > 1 && (static_cast<std::uint64_t>(one) > elements || transfers > max_transfers);
    });
    return pieces;
}

// As a program that loads the file has them.
std::vector<List> scaled(const ListSet& set, const Problem& problem) {
    const std::string text = print(set);
    const UserLists lists("synthesized", 0, parse_sets(text));
    if (const std::string refusal = lists.refusal(problem); !refusal.empty())
        throw Error(ErrorCode::internal, "synthesized lists are wrong: " + refusal);
    std::vector<List> all;
    for (int rank = 0; rank < problem.ranks; ++rank) all.push_back(lists.build(problem, rank));
    return all;
}

simulate::Parameters parameters_for(const simulate::Engine& engine, const Tuning* tuning, int ranks) {
    const Problem group{.collective = Collective::barrier, .ranks = ranks};
    const Guidance guidance{tuning, {engine.tuned, true}};
    simulate::Parameters parameters = simulate::parameters_of(guidance.machine(group));
    const Tuning::Table* table = tuning != nullptr ? tuning->messages(group, guidance.surroundings) : nullptr;
    if (table != nullptr) set_costs(parameters, *table->messages);
    set_rendezvous(parameters, engine);
    return parameters;
}

}  // namespace

SynthesisStudy::SynthesisStudy(LinksFile file, const simulate::Engine& engine, const Tuning* tuning)
    : links_(std::move(file.links)) {
    synthesis::require_connected(links_);
    simulate::Parameters& parameters = setting_.parameters;
    parameters = parameters_for(engine, tuning, links_.ranks);
    if (file.has_task) parameters.overhead = simulate::from_seconds(links_.task);
    links_.task = simulate::to_seconds(parameters.overhead);
    links_.task_per_byte = parameters.overhead_per_byte * 1e-12;
    parameters.per_byte = links_.per_byte * 1e12;
    // Half of the latency is before the first of three links, a quarter before each other one.
    const simulate::Time latency = simulate::from_seconds(links_.latency);
    parameters.latency = latency - latency / 4 * 2;
    std::vector<double> pairs = links_.pairs;
    for (double& pair : pairs) pair = std::min(pair, slowness_of_no_link);
    network_ = simulate::unequal(links_.ports, std::move(pairs), latency / 4);
    setting_.engine = engine;
    setting_.network = network_.get();
}

double SynthesisStudy::simulated_seconds(const std::vector<List>& lists) const {
    if (!have_links(lists)) throw Error(ErrorCode::invalid_argument, "the lists need a link that is missing");
    return simulate::to_seconds(simulate::simulate(simulate::make_lists(lists), setting_).end());
}

bool SynthesisStudy::have_links(const std::vector<List>& lists) const {
    for (const List& list : lists) {
        for (const Task& task : list.tasks)
            if (task.kind == Kind::send && !links_.joined(list.rank, task.peer)) return false;
    }
    return true;
}

double SynthesisStudy::work_of(const std::vector<List>& lists) const {
    double work = 0;
    for (const List& list : lists) {
        for (const Task& task : list.tasks) {
            if (task.kind != Kind::send) continue;
            work += 2 * (links_.task + static_cast<double>(task.source.length) * links_.task_per_byte);
        }
    }
    return work;
}

Synthesized SynthesisStudy::synthesize(const Problem& problem, const SynthesisOptions& options) const {
    const auto bytes = static_cast<double>(problem.bytes);
    Synthesized best;
    std::string decided;
    const std::vector<int> all = options.pieces.empty() ? default_pieces(problem) : options.pieces;
    for (const int pieces : all) {
        std::vector<synthesis::Routes> more;
        std::string how = "best found";
        if (options.solver_limit > 0 && options.search.objective == synthesis::Objective::time) {
            synthesis::Exact exact =
                synthesis::find_exactly(links_, problem, pieces, bytes / pieces, options.solver_limit);
            if (exact.routes) more.push_back(*exact.routes);
            if (exact.end == synthesis::Exact::End::optimal)
                how = fmt::format("optimal: {} steps", exact.steps);
            if (exact.end == synthesis::Exact::End::found) how = fmt::format("found: {} steps", exact.steps);
        }
        const auto consider = [&](const synthesis::Routes& routes) {
            Synthesized one;
            one.set =
                synthesis::lists_of(problem, routes, synthesis::schedule(links_, routes, bytes / pieces));
            const std::vector<List> lists = scaled(one.set, problem);
            one.seconds = simulated_seconds(lists);
            one.work = work_of(lists);
            one.pieces = pieces;
            const auto value = [&](const Synthesized& it) {
                return options.search.objective == synthesis::Objective::time
                           ? std::pair{it.seconds, it.work}
                           : std::pair{it.work, it.seconds};
            };
            if (best.set.lists.empty() || value(one) < value(best)) {
                best = std::move(one);
                decided = how;
            }
        };
        for (const synthesis::Routes& routes : more) consider(routes);
        if (how.starts_with("optimal")) how = "best found; " + how.substr(9) + " are the fewest";
        consider(synthesis::search(links_, problem, pieces, bytes / pieces, options.search, std::move(more)));
        if (options.search.stop && options.search.stop()) break;
    }
    best.bound = synthesis::lower_bound(links_, problem, bytes);
    best.how = decided;
    return best;
}

std::vector<Rival> SynthesisStudy::rivals(const Problem& problem, synthesis::Objective objective) const {
    std::vector<Rival> rivals;
    for (const Algorithm* algorithm : algorithms_of(problem.collective)) {
        const Choice choice{algorithm, default_parameters(*algorithm)};
        if (!choice.applies(problem)) continue;
        const std::vector<List> lists = build_all(problem, choice).lists;
        if (!have_links(lists)) continue;
        Rival rival{algorithm->name, 0, work_of(lists)};
        try {
            rival.seconds = simulated_seconds(lists);
        } catch (const Error& error) {
            if (error.code() != ErrorCode::unsupported) throw;
            continue;  // receives below the top of the list: no simulation
        }
        rivals.push_back(rival);
    }
    std::stable_sort(rivals.begin(), rivals.end(), [&](const Rival& a, const Rival& b) {
        return objective == synthesis::Objective::time
                   ? a.seconds < b.seconds
                   : std::pair{a.work, a.seconds} < std::pair{b.work, b.seconds};
    });
    return rivals;
}

}  // namespace lapwing::tool
