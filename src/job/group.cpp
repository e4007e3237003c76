#include "job/group.hpp"

#include <utility>

#include "links/routed.hpp"

namespace lapwing {
namespace {

// Above all claims of engines, and positive as a signed number, as which an MPI may compare claims.
constexpr std::uint64_t unavailable = INT64_MAX;

}  // namespace

JobGroup::JobGroup(JobNetwork& network, int rank, std::vector<int> members, const PlanOptions& options,
                   std::uint64_t number)
    : network_(network), options_(options) {
    group_.number = number;
    group_.rank = rank;
    group_.members = std::move(members);
    options_.warn = [this](const std::string& line) {
        if (group_.rank == 0) network_.warn_first_time(line);
    };
    const std::size_t ranks = group_.members.size();
    if (ranks > 0) {
        placement_ = network.placement_of(group_.members);
        one_host_ = network.locations().on_one_host(group_.members);
        // The hosts of unknown members are taken to be like those of the whole job.
        if (one_host_) options_.several_hosts = false;
    }
    if (ranks > 1) {
        const bool neighbors =
            one_host_ || (placement_ != nullptr && placement_->hosts() < placement_->ranks());
        some_intra_node_ = neighbors && network.node() != nullptr;
        all_intra_node_ = some_intra_node_ && one_host_;
        by_fabric_ = network.fabric() != nullptr && !all_intra_node_;
    }
    // An engine that the user names is tried first, and then, as for "auto", those that run every list.
    for (const JobNetwork::OpenEngine& engine : network.engines()) {
        if (ranks > 1 && may_run(*engine.engine)) candidates_.push_back({&engine, nullptr});
    }
    const JobNetwork::OpenEngine& any_list = network.engines().back();
    if (candidates_.empty() || candidates_.back().engine != &any_list)
        candidates_.push_back({&any_list, nullptr});
}

bool JobGroup::may_run(const Engine& engine) const {
    if (options_.engine == engine.name()) return true;
    return options_.engine == "auto" && !engine.only_by_name() && (!one_host_ || engine.suits_one_host());
}

std::vector<std::uint64_t> JobGroup::claim() {
    for (Candidate& candidate : candidates_)
        candidate.reserved = candidate.engine->job->reserve(group_.members);
    if (group_.number == JobNetwork::number_of_all) return {};
    // Fabrics have room only for the numbers that the job draws.
    const bool needs_number = by_fabric_ || (some_intra_node_ && group_.number == 0);
    if (!needs_number && candidates_.size() == 1) return {};
    std::vector<std::uint64_t> claim = {group_.rank == 0 ? network_.draw_number() : 0};
    for (const Candidate& candidate : candidates_)
        claim.push_back(candidate.reserved == nullptr ? unavailable : candidate.reserved->claim());
    return claim;
}

void JobGroup::open(std::span<const std::uint64_t> agreed, Link* link) {
    if (!agreed.empty()) {
        group_.number = agreed[0];
        for (std::size_t i = 0; i < candidates_.size(); ++i) {
            if (agreed[i + 1] == unavailable)
                candidates_[i].reserved.reset();
            else
                candidates_[i].reserved->agreed(agreed[i + 1]);
        }
    }
    open_links(link);
    std::vector<EngineOfGroup> engines;
    for (Candidate& candidate : candidates_) {
        if (candidate.reserved == nullptr) continue;
        const Engine& engine = *candidate.engine->engine;
        has_engine_network_ = has_engine_network_ || *engine.network() != '\0';
        // The user may have named the engine.
        const bool is_costly = options_.engine == "auto" && candidate.reserved->is_costly();
        engines.push_back({&engine,
                           [this, &candidate] {
                               return candidate.engine->job->open(group_, std::move(candidate.reserved));
                           },
                           is_costly});
    }
    planner_.emplace(group_.rank, std::move(engines), options_);
    open_.store(true, std::memory_order_release);
}

void JobGroup::open_links(Link* link) {
    if (by_fabric_) {
        fabric_link_ = network_.fabric()->link(group_.number, group_.members);
        link = fabric_link_.get();
    }
    if (by_fabric_ || some_intra_node_) group_.progress_thread = network_.thread_of_engines();
    group_.messages = link;
    if (!some_intra_node_) return;
    shm::ShmNode& node = *network_.node();
    intra_node_ = node.link(group_.number, group_.members);
    if (all_intra_node_) {
        group_.messages = intra_node_.get();
        return;
    }
    for (const int member : group_.members) group_.intra_node_peers.push_back(node.intra_node(member));
    routed_ = std::make_unique<RoutedLink>(*intra_node_, *link, group_.intra_node_peers);
    group_.intra_node = intra_node_.get();
    group_.messages = routed_.get();
}

}  // namespace lapwing
