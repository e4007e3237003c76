// The hosts of the ranks of a group, the groups of ranks inside hosts, and the order in which lists visit the
// ranks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace lapwing {

// Equal on all ranks.
class Placement {
  public:
    // host_of[r]: any number that identifies the host of rank r. `order`: all ranks in the order in which
    // lists visit them, with neighbours in the machine next to each other; empty: 0, 1, 2, ... Hosts are
    // numbered by their first rank in that order, and the ranks of a host keep that order.
    //
    // `inner`: levels of groups inside hosts, from the outermost level: any number that identifies the group
    // of each rank among the groups with the same parent. Groups are ordered and numbered as hosts are. A
    // level is dropped if it divides no group, or if each of its groups has one rank.
    //
    // Throws Error (invalid_argument) if there is no rank, if the order does not have every rank once, or if
    // a level does not have a number for each rank.
    explicit Placement(std::span<const std::uint64_t> host_of, std::span<const int> order = {},
                       std::span<const std::vector<std::uint64_t>> inner = {});

    int ranks() const { return static_cast<int>(order_.size()); }
    int hosts() const { return groups(0); }
    int host_of(int rank) const { return group_of(0, rank); }  // 0 ... hosts() - 1
    // The ranks of a host, in order; never empty.
    std::span<const int> ranks_of(int host) const { return ranks_of(0, host); }
    // The levels of groups. Level 0 is hosts. Each group of a deeper level is a part of one group of the
    // level before; the groups of one parent have consecutive numbers, and the ranks of a group are
    // consecutive in order().
    int levels() const { return static_cast<int>(levels_.size()); }
    int groups(int level) const { return static_cast<int>(at(level).begins.size()) - 1; }
    int group_of(int level, int rank) const { return at(level).group_of[static_cast<std::size_t>(rank)]; }
    std::span<const int> ranks_of(int level, int group) const {
        const std::size_t from = begin(level, group);
        return std::span(order_).subspan(from, begin(level, group + 1) - from);
    }
    // The maximum number of groups of this level with one parent; of levels(): the maximum number of ranks of
    // an innermost group.
    int width(int level) const { return widths_[static_cast<std::size_t>(level)]; }
    std::span<const int> order() const { return order_; }  // all ranks, host by host
    // Index of the rank in order(), and among those of its host.
    int place(int rank) const { return place_[static_cast<std::size_t>(rank)]; }
    int place_on_host(int rank) const { return place(rank) - static_cast<int>(begin(0, host_of(rank))); }

    // Returns whether the order is the default for these hosts and groups, so that the text form omits
    // "order".
    bool in_default_order() const { return default_order_; }
    // Returns whether the hosts are in the order of their smallest ranks: not along a path through the
    // network.
    bool hosts_in_rank_order() const { return hosts_in_rank_order_; }
    // Returns whether the ranks of each host are consecutive numbers, in order.
    bool has_runs() const { return runs_; }
    // Returns whether order() is 0, 1, 2, ...
    bool in_rank_order() const { return rank_order_; }
    int largest_host() const { return largest_; }  // ranks of the host with the most ranks
    int smallest_host() const { return smallest_; }
    // The fraction of all pairs of ranks that share a host.
    double intra_node_pairs() const { return intra_node_pairs_; }
    std::uint64_t hash() const { return hash_; }

    bool operator==(const Placement& other) const {
        return hash_ == other.hash_ && levels_ == other.levels_ && order_ == other.order_;
    }

  private:
    struct Level {
        std::vector<int> group_of;        // by rank
        std::vector<std::size_t> begins;  // of each group in order_, and the end

        bool operator==(const Level&) const = default;
    };

    const Level& at(int level) const { return levels_[static_cast<std::size_t>(level)]; }
    std::size_t begin(int level, int group) const {
        return at(level).begins[static_cast<std::size_t>(group)];
    }
    void add_level(std::span<const std::uint64_t> numbers);
    void describe();

    std::vector<Level> levels_;
    std::vector<int> order_;  // host by host
    std::vector<int> place_;  // by rank
    std::vector<int> widths_;
    bool default_order_ = true;
    bool hosts_in_rank_order_ = true;
    bool runs_ = true;
    bool rank_order_ = true;
    int largest_ = 0;
    int smallest_ = 0;
    double intra_node_pairs_ = 0;
    std::uint64_t hash_ = 0;
};

// Returns null if hosts do not matter: all ranks on one host, or every rank on a host of its own.
std::shared_ptr<const Placement> placement_on_hosts(std::span<const std::uint64_t> host_of);

}  // namespace lapwing
