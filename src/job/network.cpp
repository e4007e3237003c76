#include "job/network.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/error.hpp"
#include "engines/catalogue.hpp"

namespace lapwing {

JobNetwork::JobNetwork(Job& job, const std::string& engine, RankLocations locations)
    : job_(job),
      settings_(read_network_settings(job.settings())),
      locations_(std::move(locations)),
      several_hosts_(!locations_.all_on_one_host()),
      engine_(engine) {
    open_engine_by_name();
    open_fabric();
    open_engines();
    open_tcp_fabric();
    share_memory();
    open_progress_thread();
    needs_links_of_job_ = several_hosts_ && description_.empty();
    if (needs_links_of_job_) description_ = job_.describe_links(may_have_thread());
    warn_of_missing();
}

void JobNetwork::leave(const std::function<void()>& meanwhile) {
    // The progress thread still serves the peers.
    if (fabric_ != nullptr) leave_fabric(job_, *fabric_, meanwhile);
}

bool JobNetwork::may_run(const Engine& engine) const {
    return names(engine) || (engine_ == "auto" && !engine.only_by_name());
}

void JobNetwork::refuse(const Engine& engine, const std::string& why, bool by_choice) {
    missing_.engines.push_back({engine.name(), why, by_choice});
}

void JobNetwork::open(const Engine& engine) {
    try {
        engines_.push_back({&engine, engine.open(job_)});
    } catch (const Error& error) {
        if (error.code() == ErrorCode::invalid_argument) throw;
        refuse(engine, error.what());
        if (names(engine))
            job_.warn_once(fmt::format("the {} engine is not used: {}", engine.name(), error.what()));
    }
}

void JobNetwork::open_engine_by_name() {
    for (const Engine* engine : lapwing::engines()) {
        if (!engine->only_by_name() || !names(*engine)) continue;
        open(*engine);
        if (engines_.empty()) engine_ = "auto";
        return;
    }
}

// UCX or libfabric. TCP is for engines that use it themselves, or for open_tcp_fabric().
void JobNetwork::open_fabric() {
    const std::string& wanted = settings_.network;
    const bool joins = several_hosts_ || (!settings_.shared_memory && job_.ranks() > 1);
    if (!joins || wanted == "tcp" || wanted == "mpi") return;
    const auto all = lapwing::engines();
    const auto own = std::ranges::find_if(
        all, [&](const Engine* engine) { return names(*engine) && *engine->network() != '\0'; });
    if (own == all.end()) {
        fabric_ = choose_fabric(job_, wanted, missing_.networks);
    } else if (wanted != "auto") {
        missing_.networks.push_back(
            {wanted, fmt::format("the {} engine runs over {}", engine_, (*own)->network())});
    }
    if (fabric_ != nullptr)
        description_ = fmt::format("{} ({})", fabric_->name(), fabric_->description());
    else if (wanted != "auto")
        job_.warn_once(fmt::format("network '{}' is unavailable: {}", wanted, missing_.networks.back().why));
}

void JobNetwork::open_engines() {
    for (const Engine* engine : lapwing::engines()) {
        if (engine->only_by_name()) continue;
        const bool own_network = *engine->network() != '\0';
        if (!own_network || !may_run(*engine)) continue;
        if (fabric_ != nullptr) {
            refuse(*engine,
                   fmt::format("it runs over {}; this job uses {}", engine->network(), fabric_->name()),
                   true);
        } else if (!names(*engine) && !several_hosts_ && !engine->suits_one_host()) {
            refuse(*engine, "all ranks are on one host, where the host engine is faster", true);
        } else if (settings_.network == "mpi") {
            refuse(*engine, "LAPWING_NETWORK=mpi");
            if (names(*engine))
                job_.warn_once(fmt::format("the {} engine is not used: LAPWING_NETWORK=mpi", engine_));
        } else {
            const std::size_t before = engines_.size();
            open(*engine);
            if (engines_.size() > before && several_hosts_) {
                description_ = fmt::format("{} (the {} engine, {})", engine->network(), engine->name(),
                                           engines_.back().job->description());
            }
        }
    }
    // Those that run over the group's links.
    for (const Engine* engine : lapwing::engines()) {
        if (!engine->only_by_name() && *engine->network() == '\0') open(*engine);
    }
}

// For the host engine, if no engine with a network of its own runs: a progress thread can sleep at sockets,
// and cannot sleep in the native MPI. A job that names the host engine gets the job's own links, to compare
// with.
void JobNetwork::open_tcp_fabric() {
    const std::string& wanted = settings_.network;
    const bool joins = several_hosts_ || (!settings_.shared_memory && job_.ranks() > 1);
    const bool other_network =
        std::ranges::any_of(engines_, [](const OpenEngine& one) { return *one.engine->network() != '\0'; });
    if (!joins || fabric_ != nullptr || wanted == "mpi") return;
    const bool must = job_.links_stand_still();
    if (other_network && !must) return;
    if (wanted != "tcp" && !must) {
        if (!several_hosts_ || names(*engines_.back().engine)) return;
        const auto wants = job_.exchange_values(std::uint8_t{may_have_thread()});
        if (std::ranges::find(wants, 1) == wants.end()) return;
    }
    fabric_ = choose_fabric(job_, "tcp", missing_.networks);
    if (fabric_ != nullptr && description_.empty())
        description_ = fmt::format("tcp ({})", fabric_->description());
    else if (fabric_ == nullptr && wanted == "tcp")
        job_.warn_once(fmt::format("network 'tcp' is unavailable: {}", missing_.networks.back().why));
}

void JobNetwork::share_memory() {
    if (fabric_ != nullptr && may_have_thread()) pipe_ = std::make_unique<WakePipe>();
    if (!locations_.some_on_one_host()) return;
    if (!settings_.shared_memory) {
        missing_.shared_memory = "LAPWING_SHARED_MEMORY=0";
        return;
    }
    // A node lets the user's other processes copy from this one: only with need.
    node_ = std::make_unique<shm::ShmNode>(job_.ranks(), settings_.transfer);
    const std::string trouble = node_->join(job_.exchange_values(node_->address()), job_.rank());
    if (trouble.empty() && pipe_ != nullptr) node_->sleep_at(*pipe_);
    const auto agreed = job_.agree({trouble, node_->why_in_pieces()});
    missing_.shared_memory = agreed[0];
    if (missing_.shared_memory.empty() && fabric_ != nullptr)
        missing_.shared_memory = job_.agree(node_->reach_sleepers());
    if (!missing_.shared_memory.empty()) return node_.reset();
    missing_.single_copies = agreed[1];
    node_->admit_no_more();
}

// Each rank may have one or not.
void JobNetwork::open_progress_thread() {
    const bool within_host =
        settings_.progress.lists == ProgressLists::all && node_ != nullptr && node_->ranks() > 1;
    // For engines that leave intra-node messages of their lists to it.
    const bool when_needed = fabric_ == nullptr && !within_host;
    if (!may_have_thread() || (when_needed && (!several_hosts_ || node_ == nullptr || node_->ranks() < 2)))
        return;
    using Start = ProgressThread::Start;
    progress_thread_ = std::make_unique<ProgressThread>(node_.get(), fabric_.get(), pipe_.get(),
                                                        settings_.progress.processors,
                                                        when_needed ? Start::when_needed : Start::at_once);
}

// The report names what is missing; who has asked for something is told at once.
void JobNetwork::warn_of_missing() const {
    if (!locations_.some_on_one_host()) return;
    const auto warn = [&](const char* asked, const std::string& why) {
        if (!why.empty()) job_.warn_once(fmt::format("{} is unavailable: {}", asked, why));
    };
    const std::string& no_memory = missing_.shared_memory;
    if (settings_.transfer == shm::TransferMethod::kernel)
        warn("LAPWING_TRANSFER=kernel", no_memory.empty() ? missing_.single_copies : no_memory);
    if (settings_.transfer == shm::TransferMethod::processor) warn("LAPWING_TRANSFER=processor", no_memory);
    if (several_hosts_ && settings_.memory_only_inside) warn("LAPWING_INSIDE=memory", no_memory);
}

std::uint64_t JobNetwork::draw_number() {
    return (static_cast<std::uint64_t>(job_.rank()) + 1) << 32 | (++numbers_ + number_of_all);
}

std::shared_ptr<const Placement> JobNetwork::placement_of(const std::vector<int>& members) {
    const std::lock_guard lock(placement_mutex_);
    if (placed_ != members) {
        placement_ = locations_.placement_of(members);
        placed_ = members;
    }
    return placement_;
}

void JobNetwork::warn_first_time(const std::string& line) {
    const std::lock_guard lock(printed_mutex_);
    if (std::ranges::find(printed_, line) != printed_.end()) return;
    printed_.push_back(line);
    job_.warn(line);
}

void JobNetwork::fail(const std::string& why) {
    for (const OpenEngine& one : engines_) one.job->fail(why);
    if (fabric_ != nullptr) fabric_->give_up(why);
    if (node_ != nullptr) node_->give_up(why);
}

}  // namespace lapwing
