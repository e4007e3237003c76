#include "mpi/job/network.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.hpp"
#include "engines/catalogue.hpp"
#include "links/tcp/addresses.hpp"
#include "links/tcp/descriptors.hpp"
#include "mpi/job/agreement.hpp"
#include "plan/group_engines.hpp"

namespace lapwing {

shm::ShmAddress Network::open(const Settings& settings, const std::string& engine) {
    PMPI_Comm_size(MPI_COMM_WORLD, &ranks_);
    PMPI_Comm_rank(MPI_COMM_WORLD, &self_);
    engine_ = engine;
    chosen_ = read_network_settings(settings);
    // A node lets the user's other processes copy from this one: not without need.
    if (engine == "mpi" || !chosen_.shared_memory || ranks_ == 1) return {};
    node_ = std::make_unique<shm::ShmNode>(ranks_, chosen_.transfer);
    return node_->address();
}

void Network::start(const RankLocations& locations, std::span<const shm::ShmAddress> memories) {
    if (engine_ == "mpi") return;
    open_card();
    const bool several_hosts = !locations.all_on_one_host();
    const bool joins = several_hosts || (!chosen_.shared_memory && ranks_ > 1);
    if (joins) open_fabric();
    connect_hosts(several_hosts);
    if (joins) open_tcp_fabric(several_hosts);
    if (fabric_ != nullptr && chosen_.may_have_progress_thread()) pipe_ = std::make_unique<WakePipe>();
    if (locations.some_on_one_host()) {
        share_memory(memories);
        if (self_ == 0) say_what_is_missing(several_hosts);
    } else {
        node_.reset();
    }
    // Each rank may have one or not.
    if (wants_progress_thread()) {
        progress_thread_ = std::make_unique<ProgressThread>(node_.get(), fabric_.get(), pipe_.get(),
                                                            chosen_.progress_processors);
    }
    find_deferred_work(locations);
    by_native_mpi_ = several_hosts && joined_by_.empty();
    if (!by_native_mpi_) return;
    // There is nothing in an MPI to sleep at, and a thread may call it by leave of the program only.
    int level = MPI_THREAD_SINGLE;
    PMPI_Query_thread(&level);
    joined_by_ = !may_have_thread() || level != MPI_THREAD_MULTIPLE
                     ? "mpi (the native MPI, in the program's calls)"
                     : "mpi (the native MPI, which a thread calls every 0.2 ms)";
}

void Network::open_card() {
    if (!names_engine_that_needs(EngineNeeds::card, engine_)) return;
    std::string trouble;
    try {
        card_ = mlx5::open_card(chosen_.engine_options.card_variant);
    } catch (const Error& error) {
        trouble = error.what();
    }
    missing_.card = agree_on_trouble(trouble, self_);
    if (missing_.card.empty()) return;
    card_ = {};
    if (self_ == 0) fmt::print(stderr, "lapwing: the {} engine is not used: {}\n", engine_, missing_.card);
    engine_ = "auto";
}

void Network::open_fabric() {
    const std::string& wanted = chosen_.network;
    // TCP is the kernel engine's first.
    if (wanted == "tcp" || wanted == "mpi") return;
    if (names_engine_that_needs(EngineNeeds::connections, engine_)) {
        if (wanted != "auto")
            missing_.networks.push_back({wanted, fmt::format("the {} engine runs over TCP", engine_)});
    } else {
        fabric_ =
            choose_fabric(wanted, chosen_.tcp, chosen_.may_have_progress_thread(), self_, missing_.networks);
    }
    if (fabric_ != nullptr) {
        joined_by_ = fmt::format("{} ({})", fabric_->name(), fabric_->description());
    } else if (wanted != "auto" && self_ == 0) {
        fmt::print(stderr, "lapwing: the network {} cannot be had: {}\n", wanted,
                   missing_.networks.back().why);
    }
}

// For the host engine, where the kernel engine does not run: a progress thread can sleep at sockets, and not
// in the native MPI. Who has asked for the host engine alone gets it over the native MPI, to compare with.
void Network::open_tcp_fabric(bool several_hosts) {
    const std::string& wanted = chosen_.network;
    if (fabric_ != nullptr || endpoint_ != nullptr || wanted == "mpi") return;
    const bool by_itself = several_hosts && !names_engine_that_needs(EngineNeeds::nothing, engine_);
    if (wanted != "tcp" && !(by_itself && any_rank_wants_progress_thread())) return;
    fabric_ = choose_fabric("tcp", chosen_.tcp, chosen_.may_have_progress_thread(), self_, missing_.networks);
    if (fabric_ != nullptr)
        joined_by_ = fmt::format("tcp ({})", fabric_->description());
    else if (wanted == "tcp" && self_ == 0)
        fmt::print(stderr, "lapwing: the network tcp cannot be had: {}\n", missing_.networks.back().why);
}

bool Network::any_rank_wants_progress_thread() const {
    int wants = chosen_.may_have_progress_thread() ? 1 : 0;
    PMPI_Allreduce(MPI_IN_PLACE, &wants, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    return wants != 0;
}

bool Network::wants_progress_thread() const {
    if (!chosen_.may_have_progress_thread()) return false;
    return fabric_ != nullptr ||
           (chosen_.has_progress_thread_inside() && node_ != nullptr && node_->ranks() > 1);
}

void Network::share_memory(std::span<const shm::ShmAddress> memories) {
    if (node_ == nullptr) {
        missing_.shared_memory = "LAPWING_SHARED_MEMORY=0";
        return;
    }
    const std::string trouble = node_->join(memories, self_);
    if (trouble.empty() && pipe_ != nullptr) node_->sleep_at(*pipe_);
    const std::string mine[] = {trouble, trouble.empty() ? node_->why_in_pieces() : ""};
    const std::vector<std::string> told = agree_on_troubles(mine, self_);
    missing_.shared_memory = told[0];
    if (told[0].empty() && fabric_ != nullptr)
        missing_.shared_memory = agree_on_trouble(node_->reach_sleepers(), self_);
    if (!missing_.shared_memory.empty()) return node_.reset();
    missing_.single_copies = told[1];
    node_->admit_no_more();
}

// What the report says is enough, unless somebody has asked for it.
void Network::say_what_is_missing(bool several_hosts) const {
    const auto say = [](const char* asked, const std::string& why) {
        fmt::print(stderr, "lapwing: {} cannot be had: {}\n", asked, why);
    };
    const std::string& no_memory = missing_.shared_memory;
    if (chosen_.transfer == shm::TransferMethod::kernel) {
        const std::string& why = no_memory.empty() ? missing_.single_copies : no_memory;
        if (!why.empty()) say("LAPWING_TRANSFER=kernel", why);
    } else if (chosen_.transfer == shm::TransferMethod::processor && !no_memory.empty()) {
        say("LAPWING_TRANSFER=processor", no_memory);
    }
    if (several_hosts && chosen_.max_bytes_by_memory == UINT64_MAX && !no_memory.empty())
        say("LAPWING_INSIDE=memory", no_memory);
}

void Network::connect_hosts(bool several_hosts) {
    const Engine* const engine = engine_with_connections(engine_, false);
    if (engine == nullptr) return;
    std::string& why_not = missing_.why_no_engine;
    missing_.engine = engine->name();
    if (fabric_ != nullptr) {
        why_not = fmt::format("{} joins the hosts", fabric_->name());
        return;
    }
    if (engine_with_connections(engine_, !several_hosts) == nullptr) {
        why_not = "all ranks are on one host, where the host engine is faster";
        return;
    }
    std::string trouble;
    if (chosen_.network == "mpi") {
        trouble = "LAPWING_NETWORK=mpi";
    } else if (const Verdict available = engine->available(); !available) {
        trouble = available.reason();
    } else {
        try {
            endpoint_ = std::make_unique<tcp::Endpoint>(chosen_.tcp, [rank = self_](const std::string& line) {
                fmt::print(stderr, "lapwing: rank {}: {}\n", rank, line);
            });
        } catch (const Error& error) {
            if (error.code() == ErrorCode::invalid_argument) throw;
            trouble = error.what();
        }
    }
    why_not = agree_on_trouble(trouble, self_);
    free_at_start_ = tcp::free_descriptors();
    if (why_not.empty()) {
        // What every group of this size would take: known now, so that MPI_COMM_WORLD need not ask again.
        if (!reserve_descriptors(ranks_, lanes()))
            trouble = "too few descriptors for MPI_COMM_WORLD; raise `ulimit -n`";
        why_not = agree_on_trouble(trouble, self_);
    }
    if (!why_not.empty()) {
        endpoint_.reset();
        if (self_ == 0 && engine_ != "auto")
            fmt::print(stderr, "lapwing: the {} engine is not used: {}\n", missing_.engine, why_not);
        return;
    }
    tcp::Key key{};
    if (self_ == 0) key = tcp::random_key();
    PMPI_Bcast(key.data(), static_cast<int>(key.size()), MPI_BYTE, 0, MPI_COMM_WORLD);
    const tcp::Address mine = endpoint_->address();
    std::vector<tcp::Address> addresses(static_cast<std::size_t>(ranks_));
    PMPI_Allgather(&mine, sizeof mine, MPI_BYTE, addresses.data(), sizeof mine, MPI_BYTE, MPI_COMM_WORLD);
    endpoint_->admit(key, addresses, self_);
    key.fill(0);
    if (several_hosts)
        joined_by_ = fmt::format("tcp (the {} engine, sockets on {})", missing_.engine,
                                 tcp::names_of_interfaces(chosen_.tcp));
    if (!chosen_.progress_processors.empty()) endpoint_->event_loop().place(chosen_.progress_processors);
}

void Network::find_deferred_work(const RankLocations& locations) {
    if (!names_engine_that_needs(EngineNeeds::deferred_work, engine_)) return;
    DeferredWorkOptions options = chosen_.deferred_work;
    options.sharers = locations.ranks_on_this_host();
    std::string trouble;
    try {
        deferred_work_ = open_deferred_work(options);
    } catch (const Error& error) {
        trouble = error.what();
    }
    missing_.engine = engine_;
    missing_.why_no_engine = agree_on_trouble(trouble, self_);
    if (!missing_.why_no_engine.empty()) {
        deferred_work_.reset();
        if (self_ == 0)
            fmt::print(stderr, "lapwing: the {} engine is not used: {}\n", engine_, missing_.why_no_engine);
        return;
    }
    std::uint64_t least[] = {deferred_work_->entries(), deferred_work_->counters()};
    PMPI_Allreduce(MPI_IN_PLACE, least, 2, MPI_UINT64_T, MPI_MIN, MPI_COMM_WORLD);
    chosen_.engine_options.trigger_entries = least[0];
    chosen_.engine_options.trigger_counters = least[1];
    // Of MPI_COMM_WORLD, which need not ask again.
    static_cast<void>(reserve_counters(ranks_));
}

void Network::stop() {
    // While the progress thread still serves the others.
    if (fabric_ != nullptr) leave_fabric(*fabric_, chosen_.tcp.patience);
    endpoint_.reset();
    progress_thread_.reset();
    node_.reset();
    fabric_.reset();
    deferred_work_.reset();
    card_ = {};
}

std::vector<int> Network::members(MPI_Comm communicator, int ranks) const {
    MPI_Group all = MPI_GROUP_NULL;
    MPI_Group some = MPI_GROUP_NULL;
    PMPI_Comm_group(MPI_COMM_WORLD, &all);
    PMPI_Comm_group(communicator, &some);
    std::vector<int> own(static_cast<std::size_t>(ranks));
    std::vector<int> locations(own.size());
    for (int rank = 0; rank < ranks; ++rank) own[static_cast<std::size_t>(rank)] = rank;
    PMPI_Group_translate_ranks(some, ranks, own.data(), all, locations.data());
    PMPI_Group_free(&all);
    PMPI_Group_free(&some);
    for (const int place : locations) {
        if (place == MPI_UNDEFINED) return {};
    }
    return locations;
}

std::uint64_t Network::draw_number() {
    return (static_cast<std::uint64_t>(self_) + 1) << 32 | (++numbers_ + number_of_world);
}

bool Network::reserve_descriptors(int ranks, int lanes) {
    const std::uint64_t needed = static_cast<std::uint64_t>(ranks - 1) * static_cast<std::uint64_t>(lanes);
    const std::uint64_t all = reserved_ + needed + tcp::kept_descriptors;
    if (all > free_at_start_) free_at_start_ += tcp::raise_descriptor_limit(all - free_at_start_);
    if (all > free_at_start_) {
        if (!told_) {
            fmt::print(
                stderr,
                "lapwing: rank {}: a communicator of {} ranks needs {} descriptors ({} for {}connections, {} "
                "that stay free for the program and the MPI), and {} are free: the host engine runs "
                "its {}collectives; raise `ulimit -n`{}\n",
                self_, ranks, needed + tcp::kept_descriptors, needed, lanes == this->lanes() ? "" : "more ",
                tcp::kept_descriptors, free_at_start_ - std::min(free_at_start_, reserved_),
                lanes == this->lanes() ? "" : "persistent ",
                this->lanes() > 1 ? ", or lower LAPWING_TCP_LANES" : "");
        }
        told_ = true;
        return false;
    }
    reserved_ += needed;
    return true;
}

void Network::give_back_descriptors(int ranks, int lanes) {
    reserved_ -= static_cast<std::uint64_t>(ranks - 1) * static_cast<std::uint64_t>(lanes);
}

// What it can use: four for each peer, some for its runs, some for its persistent collectives; but half of
// all at most.
std::uint64_t Network::counters_of(int ranks) const {
    constexpr std::uint64_t for_runs = 32;
    return std::min(4 * static_cast<std::uint64_t>(ranks - 1) + for_runs,
                    chosen_.engine_options.trigger_counters / 2);
}

std::uint64_t Network::kept_counters_of(int ranks) const {
    constexpr std::uint64_t for_persistent = 32;
    return std::min(for_persistent, chosen_.engine_options.trigger_counters / 2 - counters_of(ranks));
}

bool Network::reserve_counters(int ranks) {
    const std::uint64_t needed = counters_of(ranks) + kept_counters_of(ranks);
    if (deferred_work_->reserve_counters(needed)) return true;
    if (!told_of_counters_) {
        fmt::print(stderr,
                   "lapwing: rank {}: a communicator of {} ranks takes {} counters of the network, and those "
                   "that are left of {} are fewer: the host engine runs its collectives; raise "
                   "LAPWING_TRIGGER_COUNTERS\n",
                   self_, ranks, needed, deferred_work_->counters());
    }
    told_of_counters_ = true;
    return false;
}

void Network::give_back_counters(int ranks) {
    deferred_work_->give_back_counters(counters_of(ranks) + kept_counters_of(ranks));
}

std::unique_ptr<Connections> Network::connect(std::uint64_t number, std::vector<int> members, int rank) {
    return endpoint_->group(number, std::move(members), rank, lanes() + kept_lanes);
}

}  // namespace lapwing
