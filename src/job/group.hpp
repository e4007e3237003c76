// One group of the job's ranks: its links, its engines and its plans. A communicator has one, and a group of
// the C API is one.
//
// Ranks of a new group must agree on what each of them has left for it. A start must not wait for a peer, so
// the agreement is one maximum over all ranks' claims, which the owner of the group begins at the first
// collective and awaits later.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "engines/engine.hpp"
#include "job/network.hpp"
#include "links/link.hpp"
#include "plan/planner.hpp"
#include "task/placement.hpp"

namespace lapwing {

// Not thread-safe.
class JobGroup {
  public:
    // `members`: the group's ranks in the job; empty if they are unknown, then the owner's link reaches all
    // peers. `number`: a number that only this group has, equal on all its ranks; 0 if the ranks must agree
    // on one. JobNetwork::number_of_all: the group of all ranks of the job that is there from the start,
    // which needs no agreement. The network must outlive the group.
    JobGroup(JobNetwork& network, int rank, std::vector<int> members, const PlanOptions& options,
             std::uint64_t number);

    // Whether open() needs a link of the owner's.
    bool needs_link() const { return !all_intra_node_ && !by_fabric_; }
    bool by_fabric() const { return by_fabric_; }
    // What this rank claims: as many numbers on all ranks. Empty: nothing to agree on. Once, before open().
    std::vector<std::uint64_t> claim();
    // `agreed`: for each number of claim() the maximum of all ranks'. `link` reaches all peers and must
    // outlive the group; it may be null unless needs_link(). Once.
    void open(std::span<const std::uint64_t> agreed, Link* link);
    // By any thread.
    bool is_open() const { return open_.load(std::memory_order_acquire); }

    std::uint64_t number() const { return group_.number; }  // agreed, once it is open
    const std::vector<int>& members() const { return group_.members; }
    // Of the group's problems; null if it is trivial.
    const std::shared_ptr<const Placement>& placement() const { return placement_; }
    const PlanOptions& options() const { return options_; }

    // After open():
    Planner& planner() { return *planner_; }
    const Planner& planner() const { return *planner_; }
    // Whether an engine may run lists over a network of its own, as sockets.
    bool has_engine_network() const { return has_engine_network_; }
    bool shares_memory() const { return intra_node_ != nullptr; }
    bool all_share_memory() const { return all_intra_node_; }

  private:
    struct Candidate {
        const JobNetwork::OpenEngine* engine;
        std::unique_ptr<Reservation> reserved;
    };
    bool may_run(const Engine& engine) const;
    void open_links(Link* link);

    JobNetwork& network_;
    PlanOptions options_;
    EngineGroup group_;
    std::shared_ptr<const Placement> placement_;
    bool one_host_ = false;
    bool some_intra_node_ = false;  // some of the group's ranks share memory
    bool all_intra_node_ = false;
    bool by_fabric_ = false;
    bool has_engine_network_ = false;
    std::vector<Candidate> candidates_;  // in the order in which they are tried

    // In this order: what is below uses what is above.
    std::unique_ptr<Link> fabric_link_;
    std::unique_ptr<Link> intra_node_;
    std::unique_ptr<Link> routed_;
    std::optional<Planner> planner_;
    std::atomic<bool> open_{false};
};

}  // namespace lapwing
