// How ranks are arranged: which peers and communicators a rank has, as rules that hold for any number of
// ranks.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace lapwing::simulate {

// A grid of all ranks, as near to a square or a cube as their number allows, as MPI_Dims_create makes it; the
// last coordinate is that of neighbouring ranks. `reversed`: the shortest side first.
struct GridRule {
    int dimensions = 1;
    bool reversed = false;

    std::array<int, 3> sides(int ranks) const;  // unused ones are 1
    std::array<int, 3> place(int rank, int ranks) const;
    int rank(const std::array<int, 3>& place, int ranks) const;

    bool operator==(const GridRule&) const = default;
};
std::span<const GridRule> grid_rules();

// From a rank to another one.
struct PeerRule {
    enum class Kind : std::uint8_t {
        first,   // rank `step`
        last,    // the last rank but `step`
        offset,  // `step` further, around the ring of all ranks
        swap,    // of which the bits of `step` differ
        half,    // half of all ranks further
        mirror,  // the last rank less this one
        grid     // `step` further along a dimension of a grid, around it
    };
    Kind kind = Kind::offset;
    int step = 0;
    GridRule grid = {};
    int dimension = 0;

    // Returns -1 if there is no such rank.
    int peer(int rank, int ranks) const;
};

// (rank, peer, ranks) of one call.
struct Pairing {
    int rank = 0;
    int peer = 0;
    int ranks = 0;
};
// Returns the first rule, from simple to complicated, that all pairings follow.
std::optional<PeerRule> find_peer_rule(std::span<const Pairing> pairings);

// From a rank to the ranks of its communicator.
struct GroupRule {
    enum class Kind : std::uint8_t {
        world,
        self,
        half,    // the lower or the upper half of all ranks
        parity,  // the even or the odd ranks
        line,    // all ranks that differ only in the coordinates `free` of a grid
    };
    Kind kind = Kind::world;
    GridRule grid = {};
    std::array<bool, 3> free = {};

    std::vector<std::int32_t> members(int rank, int ranks) const;
    int first(int rank, int ranks) const;  // of the members
};
struct Membership {
    int rank = 0;
    const std::vector<std::int32_t>* members = nullptr;
    int ranks = 0;
};
std::optional<GroupRule> find_group_rule(std::span<const Membership> memberships);

}  // namespace lapwing::simulate
