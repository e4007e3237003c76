#include "engines/triggered/demand.hpp"

#include <algorithm>

#include "engines/triggered/channel.hpp"
#include "engines/triggered/works.hpp"

namespace lapwing::triggered {
namespace {

// It would take long to examine the lists of larger groups.
constexpr int max_ranks = 1024;

Demand declined(const char* reason) {
    return {Verdict::no(reason), 0, {}};
}

}  // namespace

Demand demand_of(const Problem& problem, const std::function<List(int)>& list_of, const Limits& limits,
                 Landing landing) {
    if (has_parts(problem.collective) && problem.parts.size() != static_cast<std::size_t>(problem.ranks) &&
        !all_ranks_know_all_parts(problem.collective))
        return declined("a rank does not know the block lengths of the other ranks");
    if (problem.ranks > max_ranks) return declined("the group has more than 1024 ranks");
    Demand demand;
    for (int rank = 0; rank < problem.ranks; ++rank) {
        const List list = list_of(rank);
        if (const Verdict verdict = has_schedule(list); !verdict) return declined(verdict.reason());
        const Schedule made = schedule(list, landing);
        std::set<std::int32_t>& peers = demand.peers.emplace_back();
        for (const Exchange& exchange : made.exchanges) {
            if (landing == Landing::slots && exchange.bytes_sent > limits.bytes)
                return declined("a rank sends more than LAPWING_TRIGGER_BYTES to another rank");
            peers.insert(exchange.peer);
        }
        const Needs needs = needs_of(made);
        if (needs.entries > limits.entries)
            return declined("a rank needs more trigger entries than it has (LAPWING_TRIGGER_ENTRIES)");
        const std::uint64_t of_channel = landing == Landing::direct ? Channel::counters_of(made) : 0;
        demand.counters = std::max(demand.counters, needs.counters + of_channel);
    }
    return demand;
}

}  // namespace lapwing::triggered
