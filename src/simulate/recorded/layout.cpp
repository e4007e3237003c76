#include "simulate/recorded/layout.hpp"

#include <algorithm>
#include <utility>

namespace lapwing::simulate {
namespace {

// The sides of a box, the longest first, whose longest side is as short as possible.
std::array<int, 3> box(int ranks, int dimensions) {
    std::array<int, 3> best{ranks, 1, 1};
    for (int z = 1; z == 1 || (dimensions > 2 && z * z * z <= ranks); ++z) {
        if (ranks % z != 0) continue;
        const int rest = ranks / z;
        for (int y = z; y == 1 || (dimensions > 1 && y * y <= rest); ++y) {
            if (rest % y == 0 && std::array{rest / y, y, z} < best) best = {rest / y, y, z};
        }
    }
    return best;
}

}  // namespace

std::array<int, 3> GridRule::sides(int ranks) const {
    // Asked for each rank of one number of them.
    struct Known {
        int ranks = 0;
        int dimensions = 0;
        std::array<int, 3> sides = {};
    };
    thread_local Known known;
    if (known.ranks != ranks || known.dimensions != dimensions)
        known = {ranks, dimensions, box(ranks, dimensions)};
    std::array<int, 3> found = known.sides;
    if (!reversed) return found;
    if (dimensions == 2) std::swap(found[0], found[1]);
    if (dimensions == 3) std::swap(found[0], found[2]);
    return found;
}

std::array<int, 3> GridRule::place(int rank, int ranks) const {
    const std::array<int, 3> all = sides(ranks);
    return {rank / (all[1] * all[2]), rank / all[2] % all[1], rank % all[2]};
}

int GridRule::rank(const std::array<int, 3>& place, int ranks) const {
    const std::array<int, 3> all = sides(ranks);
    return (place[0] * all[1] + place[1]) * all[2] + place[2];
}

std::span<const GridRule> grid_rules() {
    static constexpr GridRule rules[] = {{1, false}, {2, false}, {2, true}, {3, false}, {3, true}};
    return rules;
}

int PeerRule::peer(int rank, int ranks) const {
    const auto within = [&](int peer) { return peer >= 0 && peer < ranks ? peer : -1; };
    switch (kind) {
        case Kind::first:
            return within(step);
        case Kind::last:
            return within(ranks - 1 - step);
        case Kind::offset:
            return ((rank + step) % ranks + ranks) % ranks;
        case Kind::swap:
            return within(rank ^ step);
        case Kind::half:
            return (rank + ranks / 2) % ranks;
        case Kind::mirror:
            return ranks - 1 - rank;
        case Kind::grid:
            break;
    }
    std::array<int, 3> place = grid.place(rank, ranks);
    const int side = grid.sides(ranks)[static_cast<std::size_t>(dimension)];
    int& along = place[static_cast<std::size_t>(dimension)];
    along = ((along + step) % side + side) % side;
    return grid.rank(place, ranks);
}

std::optional<PeerRule> find_peer_rule(std::span<const Pairing> pairings) {
    const auto holds = [&](const PeerRule& rule) {
        return std::all_of(pairings.begin(), pairings.end(),
                           [&](const Pairing& one) { return rule.peer(one.rank, one.ranks) == one.peer; });
    };
    if (pairings.empty()) return {};
    const Pairing& one = pairings.front();
    using Kind = PeerRule::Kind;
    // Where one rank alone makes the call, its peers are the same distance away, or the same rank.
    std::vector<PeerRule> rules;
    const bool alone = std::all_of(pairings.begin(), pairings.end(),
                                   [&](const Pairing& other) { return other.rank == one.rank; });
    if (!alone) rules.push_back({.kind = Kind::first, .step = one.peer});
    for (const int step :
         {one.peer - one.rank, one.peer - one.rank - one.ranks, one.peer - one.rank + one.ranks}) {
        rules.push_back({.kind = Kind::offset, .step = step});
    }
    rules.push_back({.kind = Kind::first, .step = one.peer});
    rules.push_back({.kind = Kind::last, .step = one.ranks - 1 - one.peer});
    for (const GridRule& grid : grid_rules()) {
        for (int dimension = 0; grid.dimensions > 1 && dimension < grid.dimensions; ++dimension) {
            for (const int step : {-1, 1}) {
                rules.push_back({.kind = Kind::grid, .step = step, .grid = grid, .dimension = dimension});
            }
        }
    }
    rules.push_back({.kind = Kind::swap, .step = one.rank ^ one.peer});
    rules.push_back({.kind = Kind::half});
    rules.push_back({.kind = Kind::mirror});
    const auto found = std::find_if(rules.begin(), rules.end(), holds);
    if (found == rules.end()) return {};
    return *found;
}

std::vector<std::int32_t> GroupRule::members(int rank, int ranks) const {
    std::vector<std::int32_t> found;
    const auto add_all = [&](int first, int count, int stride) {
        for (int i = 0; i < count; ++i) found.push_back(first + i * stride);
    };
    switch (kind) {
        case Kind::world:
            add_all(0, ranks, 1);
            return found;
        case Kind::self:
            return {rank};
        case Kind::half:
            if (rank < ranks / 2) {
                add_all(0, ranks / 2, 1);
            } else {
                add_all(ranks / 2, ranks - ranks / 2, 1);
            }
            return found;
        case Kind::parity:
            add_all(rank % 2, (ranks + 1 - rank % 2) / 2, 2);
            return found;
        case Kind::line:
            break;
    }
    const std::array<int, 3> sides = grid.sides(ranks);
    std::array<int, 3> own = grid.place(rank, ranks);
    std::array<int, 3> counts{1, 1, 1};
    for (std::size_t d = 0; d < 3; ++d) {
        if (!free[d]) continue;
        counts[d] = sides[d];
        own[d] = 0;
    }
    for (int x = 0; x < counts[0]; ++x) {
        for (int y = 0; y < counts[1]; ++y) {
            for (int z = 0; z < counts[2]; ++z) {
                found.push_back(grid.rank({own[0] + x, own[1] + y, own[2] + z}, ranks));
            }
        }
    }
    return found;
}

int GroupRule::first(int rank, int ranks) const {
    switch (kind) {
        case Kind::world:
            return 0;
        case Kind::self:
            return rank;
        case Kind::half:
            return rank < ranks / 2 ? 0 : ranks / 2;
        case Kind::parity:
            return rank % 2;
        case Kind::line:
            break;
    }
    std::array<int, 3> place = grid.place(rank, ranks);
    for (std::size_t d = 0; d < 3; ++d) {
        if (free[d]) place[d] = 0;
    }
    return grid.rank(place, ranks);
}

std::optional<GroupRule> find_group_rule(std::span<const Membership> memberships) {
    using Kind = GroupRule::Kind;
    std::vector<GroupRule> rules{{.kind = Kind::world}, {.kind = Kind::self}};
    for (const GridRule& grid : grid_rules()) {
        if (grid.dimensions == 1) continue;
        const int subsets = (1 << grid.dimensions) - 1;
        for (int subset = 1; subset < subsets; ++subset) {
            rules.push_back({.kind = Kind::line,
                             .grid = grid,
                             .free = {(subset & 1) != 0, (subset & 2) != 0, (subset & 4) != 0}});
        }
    }
    rules.push_back({.kind = Kind::half});
    rules.push_back({.kind = Kind::parity});
    const auto holds = [&](const GroupRule& rule) {
        return std::all_of(memberships.begin(), memberships.end(), [&](const Membership& one) {
            return rule.members(one.rank, one.ranks) == *one.members;
        });
    };
    const auto found = std::find_if(rules.begin(), rules.end(), holds);
    if (memberships.empty() || found == rules.end()) return {};
    return *found;
}

}  // namespace lapwing::simulate
