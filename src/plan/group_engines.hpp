// The engines of one group: the links that the group has are handed to engines and planners in one way,
// whoever the group belongs to.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "engines/engine.hpp"
#include "links/connections.hpp"
#include "links/link.hpp"
#include "plan/planner.hpp"

namespace lapwing {

// Of the engines that may take lists of a group, the first that needs connections; null: none does. `wanted`
// is an engine's name, or "auto"; all ranks of a group that shares memory are on one host.
const Engine* engine_with_connections(std::string_view wanted, bool shares_memory);

class GroupEngines {
  public:
    // `options` outlive it.
    GroupEngines(int rank, const PlanOptions& options);
    GroupEngines(const GroupEngines&) = delete;
    GroupEngines& operator=(const GroupEngines&) = delete;

    // What the group has; all before the first plan, each at most once, in this order. What is given by
    // reference outlives it.

    // Messages to all peers.
    void use(Link& messages);
    // The same by a fabric. `progress_thread` may be null.
    void use(std::unique_ptr<Link> messages, ProgressThread* progress_thread);
    // The link to the peers of this host, `peers` by rank; empty: these are all peers, and no other link is
    // needed. `progress_thread` may be null.
    void share_memory(std::unique_ptr<Link> intra_node, std::vector<bool> peers,
                      ProgressThread* progress_thread);
    void connect(Connections& connections, const EngineOptions& options);
    // What the network does by itself, with the options of that.
    void use(DeferredWork& deferred_work, const EngineOptions& options);
    // A card of each rank's, and which work queues it gets.
    void use(mlx5::Device& card, const WorkVariant& variant);

    Planner& planner() { return planner_; }
    const Planner& planner() const { return planner_; }
    // For lists that find no lane of their own.
    Planner& planner_without_connections() { return planner_without_connections_; }

    // For lists that keep a channel and their buffers, where the network has something for them; null: it has
    // not.
    Planner* planner_of_kept() {
        return context_of_kept_.deferred_work != nullptr ? &planner_of_kept_ : nullptr;
    }

    bool connected() const { return context_.connections != nullptr; }
    bool shares_memory() const { return intra_node_ != nullptr; }
    bool all_share_memory() const { return shares_memory() && routed_ == nullptr; }

  private:
    std::unique_ptr<Link> by_fabric_;
    std::unique_ptr<Link> intra_node_;
    std::unique_ptr<Link> routed_;  // of that and the messages to the others
    EngineContext context_;
    EngineContext context_without_connections_;
    EngineContext context_of_kept_;
    Planner planner_;
    Planner planner_without_connections_;
    Planner planner_of_kept_;
};

}  // namespace lapwing
