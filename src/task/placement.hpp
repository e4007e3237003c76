// The hosts of the ranks of a group, and the order in which lists visit the ranks.
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
    // numbered by their first rank in that order, and the ranks of a host keep that order. Throws Error
    // (invalid_argument) if there is no rank, or if the order does not have every rank once.
    explicit Placement(std::span<const std::uint64_t> host_of, std::span<const int> order = {});

    int ranks() const { return static_cast<int>(order_.size()); }
    int hosts() const { return static_cast<int>(begins_.size()) - 1; }
    int host_of(int rank) const { return host_of_[static_cast<std::size_t>(rank)]; }  // 0 ... hosts() - 1
    // The ranks of a host, in order; never empty.
    std::span<const int> ranks_of(int host) const {
        return std::span(order_).subspan(begin(host), begin(host + 1) - begin(host));
    }
    std::span<const int> order() const { return order_; }  // all ranks, host by host
    // Index of the rank in order(), and among those of its host.
    int place(int rank) const { return place_[static_cast<std::size_t>(rank)]; }
    int place_on_host(int rank) const { return place(rank) - static_cast<int>(begin(host_of(rank))); }

    // Returns whether the order is the default for these hosts, so that the text form omits "order".
    bool in_default_order() const { return default_order_; }
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
        return hash_ == other.hash_ && host_of_ == other.host_of_ && order_ == other.order_;
    }

  private:
    std::size_t begin(int host) const { return begins_[static_cast<std::size_t>(host)]; }
    void describe();

    std::vector<int> host_of_;         // by rank
    std::vector<int> order_;           // host by host
    std::vector<int> place_;           // by rank
    std::vector<std::size_t> begins_;  // of each host in order_, and the end
    bool default_order_ = true;
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
