#include "synthesize/study.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "base/error.hpp"
#include "collectives/user_lists.hpp"
#include "common/simulated_costs.hpp"
#include "simulate/networks/networks.hpp"
#include "simulate/random.hpp"
#include "simulate/simulation.hpp"

namespace lapwing::tool {
namespace {

using synthesis::at;

// Of a network whose links are missing: nothing is sent there.
constexpr double slowness_of_no_link = 1e6;
// Transfers of one search: larger ones take minutes.
constexpr std::size_t max_transfers = 4096;
// All orders of at most so many ranks are enumerated, and simulated if the links distinguish few of them.
constexpr int max_enumerated_ranks = 8;
constexpr std::size_t max_distinct_orders = 500;
constexpr std::uint64_t tried_orders = 300;  // of each algorithm otherwise

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

// Those that apply to the problem, with their default parameters.
std::vector<Choice> choices_for(const Problem& problem) {
    std::vector<Choice> choices;
    for (const Algorithm* algorithm : algorithms_of(problem.collective)) {
        const Choice choice{algorithm, default_parameters(*algorithm)};
        if (choice.applies(problem)) choices.push_back(choice);
    }
    return choices;
}

// As a program that loads the file has them. Throws Error (internal) if they are wrong.
std::vector<List> scaled(const ListSet& set, const Problem& problem) {
    const std::string text = print(set);
    const UserLists lists("synthesized", 0, parse_sets(text));
    if (const std::string refusal = lists.refusal(problem); !refusal.empty())
        throw Error(ErrorCode::internal, "synthesized lists are wrong: " + refusal);
    std::vector<List> all;
    for (int rank = 0; rank < problem.ranks; ++rank) all.push_back(lists.build(problem, rank));
    return all;
}

// Lists for ranks in another order, of a collective whose memory has no block for each rank.
std::vector<List> reorder(const std::vector<List>& lists, const std::vector<int>& order) {
    std::vector<List> after(lists.size());
    for (const List& list : lists) {
        List moved = list;
        moved.rank = order[at(list.rank)];
        for (Task& task : moved.tasks)
            if (task.peer >= 0) task.peer = order[at(task.peer)];
        after[at(moved.rank)] = std::move(moved);
    }
    return after;
}

}  // namespace

SynthesisStudy::SynthesisStudy(LinksFile file, const simulate::Engine& engine, const Tuning* tuning)
    : links_(std::move(file.links)) {
    synthesis::require_connected(links_);
    simulate::Parameters& parameters = setting_.parameters;
    parameters = parameters_for(engine, {.collective = Collective::barrier, .ranks = links_.ranks}, tuning);
    set_rendezvous(parameters, engine);
    if (file.has_task) parameters.overhead = simulate::from_seconds(links_.task);
    links_.task = simulate::to_seconds(parameters.overhead);
    parameters.per_byte = links_.per_byte * 1e12;
    // Half of the latency is before the first of three links, a quarter before each other one.
    const simulate::Time latency = simulate::from_seconds(links_.latency);
    parameters.latency = latency - latency / 4 * 2;
    setting_.engine = engine;
    in_order_.resize(at(links_.ranks));
    std::iota(in_order_.begin(), in_order_.end(), 0);
}

bool SynthesisStudy::have_links(const std::vector<List>& lists, const Order& order) const {
    for (const List& list : lists) {
        for (const Task& task : list.tasks)
            if (task.kind == Kind::send && !links_.joined(order[at(list.rank)], order[at(task.peer)]))
                return false;
    }
    return true;
}

std::optional<double> SynthesisStudy::seconds_in_order(const std::vector<List>& lists,
                                                       const Order& order) const {
    if (!have_links(lists, order)) return std::nullopt;
    std::vector<double> ports;
    std::vector<double> pairs;
    for (const int one : order) {
        ports.push_back(links_.port(one));
        for (const int other : order) pairs.push_back(std::min(links_.pair(one, other), slowness_of_no_link));
    }
    const auto links =
        simulate::unequal(std::move(ports), std::move(pairs), simulate::from_seconds(links_.latency) / 4);
    simulate::Setting setting = setting_;
    setting.network = links.get();
    try {
        return simulate::to_seconds(simulate::simulate(simulate::make_lists(lists), setting).end());
    } catch (const Error& error) {
        if (error.code() != ErrorCode::unsupported) throw;
        return std::nullopt;  // receives below the top of the list: no simulation
    }
}

// Empty: too many.
std::vector<SynthesisStudy::Order> SynthesisStudy::distinct_orders(const Problem& problem) const {
    std::vector<Order> orders;
    if (links_.ranks > max_enumerated_ranks) return orders;
    std::set<std::vector<double>> seen;
    Order order = in_order_;
    do {
        if (has_root(problem.collective) && order[at(problem.root)] != problem.root) continue;
        std::vector<double> links;
        for (const int one : order) {
            links.push_back(links_.port(one));
            for (const int other : order) links.push_back(links_.pair(one, other));
        }
        if (!seen.insert(std::move(links)).second) continue;
        orders.push_back(order);
        if (orders.size() > max_distinct_orders) return {};
    } while (std::next_permutation(order.begin(), order.end()));
    return orders;
}

Rival SynthesisStudy::best_order(const Problem& problem, const Choice& choice,
                                 const std::vector<Order>& orders) const {
    const std::vector<List> lists = build_all(problem, choice).lists;
    Rival rival{choice.algorithm, synthesis::never, in_order_};
    const auto consider = [&](const Order& order) {
        const std::optional<double> seconds = seconds_in_order(lists, order);
        if (seconds && *seconds < rival.seconds) rival = {choice.algorithm, *seconds, order};
    };
    for (const Order& order : orders) consider(order);
    if (!orders.empty()) return rival;
    consider(in_order_);
    for (std::uint64_t i = 0; i < tried_orders; ++i) {
        Order order = rival.order;
        const auto drawn = [&](std::uint64_t number) {
            return static_cast<std::size_t>(simulate::random_bits(1, number, i) % order.size());
        };
        const std::size_t one = drawn(0);
        const std::size_t other = drawn(1);
        const auto root = has_root(problem.collective) ? at(problem.root) : order.size();
        if (one == other || one == root || other == root) continue;
        std::swap(order[one], order[other]);
        consider(order);
    }
    return rival;
}

std::optional<Rival> SynthesisStudy::best_in_any_order(const Problem& problem) const {
    const std::vector<Order> orders = distinct_orders(problem);
    std::optional<Rival> best;
    for (const Choice& choice : choices_for(problem)) {
        Rival rival = best_order(problem, choice, orders);
        if (rival.seconds < (best ? best->seconds : synthesis::never)) best = std::move(rival);
    }
    return best;
}

std::optional<Synthesized> SynthesisStudy::reordered(const Problem& problem, const Rival& rival) const {
    using enum Collective;
    if (problem.collective != broadcast && problem.collective != reduce && problem.collective != allreduce)
        return std::nullopt;
    std::optional<Synthesized> best;
    const Choice choice{rival.algorithm, default_parameters(*rival.algorithm)};
    for (const int pieces : default_pieces(problem)) {
        Synthesized one;
        one.set.problem = {.collective = problem.collective, .ranks = problem.ranks, .root = problem.root};
        one.set.problem.bytes = static_cast<std::uint64_t>(pieces);
        one.set.chunks.emplace();
        if (!choice.applies(one.set.problem)) continue;
        one.set.lists = reorder(build_all(one.set.problem, choice).lists, rival.order);
        std::vector<List> lists;
        try {
            lists = scaled(one.set, problem);
        } catch (const Error& error) {
            if (error.code() != ErrorCode::internal) throw;
            continue;  // lists that depend on the size of the block have no form in chunks
        }
        const std::optional<double> seconds = seconds_in_order(lists, in_order_);
        if (!seconds || (best && *seconds >= best->seconds)) continue;
        one.seconds = *seconds;
        one.pieces = pieces;
        one.how = fmt::format("{} of the catalogue, ranks in order {}", rival.algorithm->name,
                              fmt::join(rival.order, ","));
        best = std::move(one);
    }
    if (best) best->bound = synthesis::lower_bound(links_, problem, static_cast<double>(problem.bytes));
    return best;
}

Synthesized SynthesisStudy::synthesize(const Problem& problem, const SynthesisOptions& options) const {
    const auto bytes = static_cast<double>(problem.bytes);
    Synthesized best;
    const std::vector<int> all = options.pieces.empty() ? default_pieces(problem) : options.pieces;
    for (const int pieces : all) {
        const synthesis::Routes routes =
            synthesis::search(links_, problem, pieces, bytes / pieces, options.search);
        Synthesized one;
        one.set = synthesis::lists_of(problem, routes, synthesis::schedule(links_, routes, bytes / pieces));
        const std::optional<double> seconds = seconds_in_order(scaled(one.set, problem), in_order_);
        if (!seconds) throw Error(ErrorCode::internal, "synthesized lists need a link that is missing");
        one.seconds = *seconds;
        one.pieces = pieces;
        if (best.set.lists.empty() || one.seconds < best.seconds) best = std::move(one);
        if (options.search.stop && options.search.stop()) break;
    }
    best.bound = synthesis::lower_bound(links_, problem, bytes);
    best.how = "best found";
    return best;
}

std::vector<Rival> SynthesisStudy::rivals(const Problem& problem) const {
    std::vector<Rival> rivals;
    for (const Choice& choice : choices_for(problem)) {
        if (const auto seconds = seconds_in_order(build_all(problem, choice).lists, in_order_))
            rivals.push_back({choice.algorithm, *seconds, in_order_});
    }
    std::ranges::stable_sort(rivals, {}, &Rival::seconds);
    return rivals;
}

}  // namespace lapwing::tool
