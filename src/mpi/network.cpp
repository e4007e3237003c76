#include "mpi/network.hpp"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>

#include "base/error.hpp"
#include "engines/kernel/engine.hpp"
#include "links/tcp/addresses.hpp"
#include "plan/network_settings.hpp"

namespace lapwing {
namespace {

// That the program, the MPI and the engine's gates may want besides.
constexpr std::uint64_t kept_descriptors = 48;

}  // namespace

std::string agree_on_trouble(const std::string& mine, int self) {
    int ranks = 0;
    PMPI_Comm_size(MPI_COMM_WORLD, &ranks);
    int first = mine.empty() ? ranks : self;
    PMPI_Allreduce(MPI_IN_PLACE, &first, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (first == ranks) return "";
    char text[512] = {};
    if (first == self) {
        fmt::format_to_n(text, sizeof text - 1, "rank {} ({}): {}", self, tcp::host_name(), mine);
    }
    PMPI_Bcast(text, sizeof text, MPI_CHAR, first, MPI_COMM_WORLD);
    return text;
}

void Network::start(const Settings& settings, const std::string& engine, bool several_hosts) {
    ranks_ = 1;
    PMPI_Comm_size(MPI_COMM_WORLD, &ranks_);
    PMPI_Comm_rank(MPI_COMM_WORLD, &self_);
    if (engine == "mpi") return;
    const NetworkSettings chosen = read_network_settings(settings);
    meet(chosen);
    if (engine == "kernel" || engine == "auto") connect_hosts(chosen, engine, several_hosts);
}

// The memory of each host.
void Network::meet(const NetworkSettings& chosen) {
    // A station lets the user's other processes copy from this one: not without need.
    if (!chosen.shared_memory || ranks_ == 1) return;
    station_ = std::make_unique<shm::Station>(ranks_, chosen.transfer);
    const shm::Card mine = station_->card();
    std::vector<shm::Card> cards(static_cast<std::size_t>(ranks_));
    PMPI_Allgather(&mine, sizeof mine, MPI_BYTE, cards.data(), sizeof mine, MPI_BYTE, MPI_COMM_WORLD);
    if (!agree_on_trouble(station_->join(cards, self_), self_).empty()) {
        station_.reset();
        return;
    }
    station_->admit_no_more();
    // Each rank may have one or not.
    if (chosen.helper && station_->ranks() > 1)
        helper_ = std::make_unique<Helper>(*station_, chosen.helper_processors);
}

void Network::connect_hosts(const NetworkSettings& chosen, const std::string& engine, bool several_hosts) {
    if (engine == "auto" && !several_hosts) {
        why_not_ = "all ranks are on one host, where the host engine is faster";
        return;
    }
    wishes_ = chosen.wishes;
    lanes_ = chosen.lanes;
    std::string trouble;
    if (const Verdict available = kernel_engine().available(); !available) {
        trouble = available.reason();
    } else {
        try {
            endpoint_ = std::make_unique<tcp::Endpoint>(chosen.tcp, [rank = self_](const std::string& line) {
                fmt::print(stderr, "lapwing: rank {}: {}\n", rank, line);
            });
        } catch (const Error& error) {
            if (error.code() == ErrorCode::invalid_argument) throw;
            trouble = error.what();
        }
    }
    why_not_ = agree_on_trouble(trouble, self_);
    free_at_start_ = tcp::free_descriptors();
    if (why_not_.empty()) {
        // What every group of this size would take: known now, so that MPI_COMM_WORLD need not ask again.
        if (!reserve_descriptors(ranks_, lanes_))
            trouble = "too few descriptors for MPI_COMM_WORLD; raise `ulimit -n`";
        why_not_ = agree_on_trouble(trouble, self_);
    }
    if (!why_not_.empty()) {
        endpoint_.reset();
        if (self_ == 0 && engine == "kernel")
            fmt::print(stderr, "lapwing: the kernel engine is not used: {}\n", why_not_);
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
    if (!chosen.helper_processors.empty()) endpoint_->attendant().place(chosen.helper_processors);
}

void Network::stop() {
    endpoint_.reset();
    helper_.reset();
    station_.reset();
}

std::vector<int> Network::members(MPI_Comm communicator, int ranks) const {
    MPI_Group all = MPI_GROUP_NULL;
    MPI_Group some = MPI_GROUP_NULL;
    PMPI_Comm_group(MPI_COMM_WORLD, &all);
    PMPI_Comm_group(communicator, &some);
    std::vector<int> own(static_cast<std::size_t>(ranks));
    std::vector<int> places(own.size());
    for (int rank = 0; rank < ranks; ++rank) own[static_cast<std::size_t>(rank)] = rank;
    PMPI_Group_translate_ranks(some, ranks, own.data(), all, places.data());
    PMPI_Group_free(&all);
    PMPI_Group_free(&some);
    for (const int place : places) {
        if (place == MPI_UNDEFINED) return {};
    }
    return places;
}

std::uint64_t Network::draw_number() {
    return (static_cast<std::uint64_t>(self_) + 1) << 32 | (++numbers_ + number_of_world);
}

bool Network::reserve_descriptors(int ranks, int lanes) {
    const std::uint64_t needed = static_cast<std::uint64_t>(ranks - 1) * static_cast<std::uint64_t>(lanes);
    const std::uint64_t all = reserved_ + needed + kept_descriptors;
    if (all > free_at_start_) raise_limit(all - free_at_start_);
    if (all > free_at_start_) {
        if (!told_) {
            fmt::print(stderr,
                       "lapwing: rank {}: a communicator of {} ranks takes {} {}connections, but only {} "
                       "descriptors are free: the host engine runs its {}collectives; raise `ulimit -n`{}\n",
                       self_, ranks, needed, lanes == lanes_ ? "" : "more ",
                       free_at_start_ - std::min(free_at_start_, reserved_),
                       lanes == lanes_ ? "" : "persistent ",
                       lanes_ > 1 ? ", or lower LAPWING_TCP_LANES" : "");
        }
        told_ = true;
        return false;
    }
    reserved_ += needed;
    return true;
}

// A process may raise its limit as far as the hard one.
void Network::raise_limit(std::uint64_t by) {
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return;
    const rlim_t before = limit.rlim_cur;
    limit.rlim_cur = std::min<rlim_t>(limit.rlim_max, before + by);
    if (limit.rlim_cur > before && ::setrlimit(RLIMIT_NOFILE, &limit) == 0)
        free_at_start_ += limit.rlim_cur - before;
}

void Network::give_back_descriptors(int ranks, int lanes) {
    reserved_ -= static_cast<std::uint64_t>(ranks - 1) * static_cast<std::uint64_t>(lanes);
}

std::unique_ptr<Connections> Network::connect(std::uint64_t number, std::vector<int> members, int rank) {
    return endpoint_->group(number, std::move(members), rank, lanes_ + kept_lanes);
}

}  // namespace lapwing
