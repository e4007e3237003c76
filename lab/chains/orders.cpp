// Selects the chain forms and the orders to run.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "chains/check.hpp"
#include "chains/model.hpp"

namespace lapwing {
namespace checker {
namespace {

constexpr std::uint64_t any = std::numeric_limits<std::uint64_t>::max();

// Up to this many ranks, every rank and every connection is late in one of the orders, and several
// collectives run in a row.
constexpr std::size_t small_group = 8;
// Without receives among sends, connections hold one byte if a run then has at most this many moves, else
// more bytes. One run of each small group may have more moves.
constexpr std::uint64_t max_moves = 512;
constexpr std::uint64_t max_moves_of_one_run = 4096;

std::vector<Order> orders_of(const ChainTable& table, const ChainLimits& limits) {
    const bool receives_among_sends =
        std::any_of(table.chains.begin(), table.chains.end(), [&](const TableChain& chain) {
            return chain.stage >= 0 &&
                   std::any_of(table.moves.begin() + chain.first, table.moves.begin() + chain.end,
                               [](const Move& m) { return m.kind == Step::Kind::receive; });
        });
    using Late = Order::Late;
    const std::uint64_t eager = receives_among_sends ? limits.eager_bytes : 1;
    const std::uint64_t few = std::max(eager, 1 + table.facts.total_bytes() / max_moves);
    const std::uint64_t piece = 1 + table.facts.total_bytes() / max_moves_of_one_run;
    if (table.ranks.size() > small_group) {
        std::vector<Order> orders = {{any, any, Late::receives, 0, 1}, {few, any, Late::receives, 0, 1}};
        if (table.intra_node) orders.push_back({any, any, Late::processors, 0, 1});
        return orders;
    }
    const auto ranks = static_cast<std::uint32_t>(table.ranks.size());
    std::vector<Order> orders = {{any, any, Late::receives, 0, 3},
                                 {std::max(eager, piece), piece, Late::receives, 0, 2},
                                 {few, any, Late::random, 1, 3},
                                 {any, any, Late::random, 2, 3}};
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
        orders.push_back({any, any, Late::rank, rank, 3});
        orders.push_back({few, any, Late::others, rank, 3});
    }
    for (PairIndex pair = 0; pair < table.traffic.size(); ++pair) {
        orders.push_back({any, any, Late::connection, pair, 1});
    }
    if (table.intra_node) {
        orders.push_back({any, any, Late::processors, 0, 3});
        orders.push_back({few, any, Late::processors, 0, 2});
    }
    return orders;
}

std::optional<ChainFault> with_hosts(std::optional<ChainFault> fault, std::span<const int> hosts) {
    if (fault && !hosts.empty())
        fault->why += fmt::format("; with the ranks on hosts {}", fmt::join(hosts, " "));
    return fault;
}

std::optional<ChainFault> check(std::span<const List> lists, const Traffic& traffic, const ListFacts& facts,
                                std::span<const Chains> chains, const ChainLimits& limits) {
    if (auto fault = check_chain_form(lists, facts, chains, limits)) return fault;
    const ChainTable table(lists, traffic, facts, chains);
    for (const Order& order : orders_of(table, limits)) {
        if (auto fault = run_chains(table, order)) return fault;
    }
    return std::nullopt;
}

// Returns the limits themselves; without receives among sends; and with short chains and messages in parts,
// both ways. Large groups on hosts get fewer, because they are checked without hosts as well.
std::vector<ChainLimits> limits_to_try(std::span<const List> lists, const ChainLimits& limits,
                                       std::span<const int> hosts) {
    std::uint64_t longest = 1;
    for (const List& list : lists) {
        for (const Task& task : list.tasks) {
            if (sends(task.kind)) longest = std::max(longest, task.source.length);
        }
    }
    const std::uint64_t part = std::min(1 + longest / 3, limits.step_bytes);
    std::vector<ChainLimits> result = {limits};
    if (hosts.empty() || lists.size() <= small_group)
        result.push_back({0, limits.step_bytes, limits.chain_steps, limits.gate_signals});
    result.push_back({0, part, 3, 1});
    if (lists.size() <= small_group) result.push_back({limits.eager_bytes, part, 4, 2});
    return result;
}

}  // namespace
}  // namespace checker

std::string ChainFault::what(std::span<const List> lists) const {
    const std::string where =
        task ? ", " + checker::describe(lists[static_cast<std::size_t>(rank)], *task) : "";
    return fmt::format("chains: rank {}{}: {}", rank, where, why);
}

std::optional<ChainFault> check_chains(std::span<const List> lists, std::span<const Chains> chains,
                                       const ChainLimits& limits, std::span<const int> hosts) {
    const checker::Traffic traffic(lists);
    const checker::ListFacts facts(lists, traffic, hosts);
    return checker::with_hosts(checker::check(lists, traffic, facts, chains, limits), hosts);
}

std::optional<ChainFault> check_chains(std::span<const List> lists, const ChainLimits& limits,
                                       std::span<const int> hosts) {
    for (const List& list : lists) {
        if (const Verdict verdict = has_chains(list); !verdict) {
            return ChainFault{list.rank, std::nullopt,
                              fmt::format("it has no chain form: {}", verdict.reason())};
        }
    }
    const checker::Traffic traffic(lists);
    const checker::ListFacts facts(lists, traffic, hosts);
    std::vector<std::vector<Chains>> known;
    for (const ChainLimits& each : checker::limits_to_try(lists, limits, hosts)) {
        std::vector<Chains> chains;
        chains.reserve(lists.size());
        for (const List& list : lists)
            chains.push_back(lower_to_chains(list, each, intra_node_peers(hosts, list.rank)));
        // Skip equal chains: their runs are equal.
        if (std::find(known.begin(), known.end(), chains) != known.end()) continue;
        if (auto fault = checker::check(lists, traffic, facts, chains, each))
            return checker::with_hosts(std::move(fault), hosts);
        known.push_back(std::move(chains));
    }
    return std::nullopt;
}

std::vector<std::vector<int>> sample_hosts(int ranks) {
    std::vector<std::vector<int>> all(1);
    if (ranks == 2) all.push_back({0, 0});
    if (ranks < 3) return all;
    std::vector<int> in_turn;
    std::vector<int> round_robin;
    for (int rank = 0; rank < ranks; ++rank) {
        in_turn.push_back(rank / 6 * 3 + (rank % 6 == 0 ? 0 : rank % 6 <= 3 ? 1 : 2));
        round_robin.push_back(rank % 2);
    }
    all.push_back(in_turn);
    if (ranks > 3 && ranks <= 8) all.push_back(round_robin);
    return all;
}

std::optional<ChainFault> check_chains_on_hosts(std::span<const List> lists) {
    for (const std::vector<int>& hosts : sample_hosts(static_cast<int>(lists.size()))) {
        if (auto fault = check_chains(lists, {}, hosts)) return fault;
    }
    return std::nullopt;
}

}  // namespace lapwing
