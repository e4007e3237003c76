#include "plan/group_engines.hpp"

#include <utility>

#include "engines/catalogue.hpp"
#include "links/routed.hpp"

namespace lapwing {

const Engine* engine_with_connections(std::string_view wanted, bool shares_memory) {
    for (const Engine* engine : engines()) {
        const bool candidate =
            wanted == "auto" ? !shares_memory || engine->suits_one_host() : wanted == engine->name();
        if (candidate && engine->needs() == EngineNeeds::connections) return engine;
    }
    return nullptr;
}

GroupEngines::GroupEngines(int rank, const PlanOptions& options)
    : planner_(rank, context_, options),
      planner_without_connections_(rank, context_without_connections_, options),
      planner_of_kept_(rank, context_of_kept_, options) {}

void GroupEngines::use(Link& messages) {
    context_.messages = context_without_connections_.messages = &messages;
}

void GroupEngines::use(std::unique_ptr<Link> messages, ProgressThread* progress_thread) {
    by_fabric_ = std::move(messages);
    use(*by_fabric_);
    context_.progress_thread = context_without_connections_.progress_thread = progress_thread;
}

void GroupEngines::share_memory(std::unique_ptr<Link> intra_node, std::vector<bool> peers,
                                ProgressThread* progress_thread) {
    intra_node_ = std::move(intra_node);
    Link* messages = intra_node_.get();
    if (!peers.empty()) {
        routed_ = std::make_unique<RoutedLink>(*intra_node_, *context_.messages, peers);
        messages = routed_.get();
        context_.intra_node = intra_node_.get();
        context_.intra_node_peers = std::move(peers);
    }
    use(*messages);
    context_.progress_thread = context_without_connections_.progress_thread = progress_thread;
}

void GroupEngines::connect(Connections& connections, const EngineOptions& options) {
    context_.connections = &connections;
    context_.options = options;
}

void GroupEngines::use(DeferredWork& deferred_work, const EngineOptions& options) {
    // Not without connections: of what runs over one link, one knows the peers' memory.
    context_.deferred_work = &deferred_work;
    context_.options.trigger_entries = options.trigger_entries;
    context_.options.trigger_counters = options.trigger_counters;
    context_.options.trigger_bytes = options.trigger_bytes;
    if (options.kept_trigger_counters == 0) return;
    context_of_kept_ = context_without_connections_;
    context_of_kept_.kept = true;
    context_of_kept_.deferred_work = &deferred_work;
    context_of_kept_.options = context_.options;
    context_of_kept_.options.trigger_counters = options.kept_trigger_counters;
}

void GroupEngines::use(mlx5::Device& card, const WorkVariant& variant) {
    for (EngineContext* context : {&context_, &context_without_connections_, &context_of_kept_}) {
        context->card = &card;
        context->options.card_variant = &variant;
    }
}

}  // namespace lapwing
