#include "simulate/recorded/roles.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "simulate/recorded/layout.hpp"

namespace lapwing::simulate {
namespace {

struct RoleRule {
    bool parity = false;
    GridRule grid = {};

    int role(int rank, int ranks) const {
        if (parity) return rank % 2;
        const std::array<int, 3> sides = grid.sides(ranks);
        const std::array<int, 3> place = grid.place(rank, ranks);
        int edges = 0;
        for (std::size_t d = 0; d < 3; ++d) {
            edges = edges * 4 + (place[d] == 0 ? 1 : 0) + (place[d] == sides[d] - 1 ? 2 : 0);
        }
        return edges;
    }
};

// The sequence of each role; none if ranks of one role have different ones.
std::optional<std::map<int, int>> sequences_by(const RoleRule& rule, const std::vector<Cast>& casts) {
    std::map<int, int> found;
    for (const Cast& cast : casts) {
        const auto ranks = static_cast<int>(cast.size());
        for (int rank = 0; rank < ranks; ++rank) {
            const int own = cast[static_cast<std::size_t>(rank)];
            if (found.try_emplace(rule.role(rank, ranks), own).first->second != own) return {};
        }
    }
    return found;
}

}  // namespace

std::vector<int> find_roles(const std::vector<Cast>& casts, int ranks) {
    const std::set<int> last(casts.back().begin(), casts.back().end());
    std::vector<RoleRule> rules;
    for (const GridRule& grid : grid_rules()) rules.push_back({.grid = grid});
    rules.push_back({.parity = true});
    const bool one = last.size() == 1 && std::all_of(casts.begin(), casts.end(), [&](const Cast& cast) {
                         return std::all_of(cast.begin(), cast.end(),
                                            [&](int sequence) { return sequence == *last.begin(); });
                     });
    if (one) return std::vector<int>(static_cast<std::size_t>(ranks), *last.begin());
    for (const RoleRule& rule : rules) {
        const auto sequences = sequences_by(rule, casts);
        if (!sequences) continue;
        std::vector<int> roles;
        for (int rank = 0; rank < ranks; ++rank) {
            const auto found = sequences->find(rule.role(rank, ranks));
            if (found == sequences->end() || !last.contains(found->second)) break;
            roles.push_back(found->second);
        }
        if (roles.size() == static_cast<std::size_t>(ranks)) return roles;
    }
    return {};
}

std::string first_difference(const std::vector<CallSequence>& sequences, const std::vector<Cast>& casts,
                             const std::vector<ReplaySite>& sites) {
    const auto describe = [&](std::size_t index, std::size_t at) {
        const CallSequence& sequence = sequences[index];
        for (const Cast& cast : casts) {
            const auto rank = std::find(cast.begin(), cast.end(), static_cast<int>(index));
            if (rank == cast.end()) continue;
            const std::string call = at < sequence.size()
                                         ? sites[static_cast<std::size_t>(sequence[at].second)].of.function
                                         : "no more calls";
            return fmt::format("rank {} of {} has {}", rank - cast.begin(), cast.size(),
                               call.empty() ? "the end of a loop" : call);
        }
        return std::string();
    };
    std::size_t at = 0;
    while (at < sequences[0].size() && at < sequences[1].size() && sequences[0][at] == sequences[1][at]) ++at;
    return fmt::format("no rule says which ranks make which calls: {} where {}", describe(0, at),
                       describe(1, at));
}

}  // namespace lapwing::simulate
