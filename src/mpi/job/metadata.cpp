#include "mpi/job/metadata.hpp"

#include <fmt/format.h>
#include <mpi.h>
#include <unistd.h>

#include <array>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/trace.hpp"
#include "engines/job.hpp"
#include "job/rank_locations.hpp"
#include "links/tcp/addresses.hpp"
#include "mpi/native/members.hpp"

namespace lapwing {
namespace {

struct ClockOffset {
    std::int64_t offset = 0;  // to be added to this host's clock for that of rank 0's host, nanoseconds
    std::uint64_t error = 0;  // `offset` is wrong by no more: half the shortest round trip
};

// The first ones make connections; of the others one at least should not be disturbed.
constexpr int round_trips = 40;

void answer(int leader, MPI_Comm communicator) {
    for (int i = 0; i < round_trips; ++i) {
        PMPI_Recv(nullptr, 0, MPI_BYTE, leader, 0, communicator, MPI_STATUS_IGNORE);
        const std::uint64_t now = trace::now();
        PMPI_Send(&now, 1, MPI_UINT64_T, leader, 0, communicator);
    }
}

ClockOffset ask(MPI_Comm communicator) {
    ClockOffset found;
    std::uint64_t shortest = UINT64_MAX;
    for (int i = 0; i < round_trips; ++i) {
        const std::uint64_t sent = trace::now();
        PMPI_Send(nullptr, 0, MPI_BYTE, 0, 0, communicator);
        std::uint64_t there = 0;
        PMPI_Recv(&there, 1, MPI_UINT64_T, 0, 0, communicator, MPI_STATUS_IGNORE);
        const std::uint64_t took = trace::now() - sent;
        if (took >= shortest) continue;
        shortest = took;
        found.offset = static_cast<std::int64_t>(there - (sent + took / 2));
        found.error = took - took / 2;
    }
    return found;
}

}  // namespace

std::string mpi_version() {
    char text[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int length = 0;
    PMPI_Get_library_version(text, &length);
    // "Open MPI v4.1.4, package: ...", "MPICH Version:\t4.0.2\n..."
    const std::string_view all = text;
    const std::string_view line = all.substr(0, all.find_first_of(",\n"));
    // "Intel(R) MPI Library 2021.18 for Linux* OS"
    if (line.starts_with("Intel")) return std::string(line.substr(0, line.find(" for ")));
    const std::size_t number = line.find_first_of("0123456789");
    if (number == std::string_view::npos) return std::string(line);
    const std::string_view name =
        line.substr(0, line.find_first_of(line.starts_with("Open MPI") ? "v" : " \t"));
    return fmt::format("{} {}", name.substr(0, name.find_last_not_of(' ') + 1), line.substr(number));
}

void add_metadata(const nlohmann::ordered_json& fact) {
    trace::add_metadata(fact.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
}

bool open_trace(Job& job, std::uint64_t capacity, const char* made) {
    std::string trouble;
    try {
        trace::open(job.settings().trace, job.rank(), capacity);
    } catch (const std::exception& error) {
        trouble = error.what();
    }
    if (const std::string first = job.agree(trouble); !first.empty()) {
        trace::close();
        job.warn_once(fmt::format("no {}: {}", made, first));
        return false;
    }
    add_metadata({{"fact", "rank"},
                  {"rank", job.rank()},
                  {"ranks", job.ranks()},
                  {"host", tcp::host_name()},
                  {"process", ::getpid()},
                  {"lapwing", LAPWING_VERSION},
                  {"mpi", mpi_version()},
                  {"engine", job.settings().engine},
                  {"capacity", capacity}});
    return true;
}

void add_clock_metadata(const RankLocations& locations, const char* when) {
    // Ranks of one host have one clock: the lowest one compares it.
    const auto leader_of = [&locations](int rank) {
        int leader = 0;
        while (!locations.on_one_host(std::array{leader, rank})) ++leader;
        return leader;
    };
    const int rank = rank_in(MPI_COMM_WORLD);
    const int ranks = ranks_in(MPI_COMM_WORLD);
    // The program's own messages may still be on their way in MPI_COMM_WORLD.
    MPI_Comm communicator = MPI_COMM_NULL;
    if (PMPI_Comm_dup(MPI_COMM_WORLD, &communicator) != MPI_SUCCESS) return;
    ClockOffset mine;
    for (int leader = 1; leader < ranks; ++leader) {
        if (leader_of(leader) != leader) continue;
        if (rank == 0) answer(leader, communicator);
        if (rank == leader) mine = ask(communicator);
    }
    std::vector<ClockOffset> all(static_cast<std::size_t>(ranks));
    PMPI_Allgather(&mine, 2, MPI_UINT64_T, all.data(), 2, MPI_UINT64_T, communicator);
    PMPI_Comm_free(&communicator);
    const ClockOffset& of_host = all[static_cast<std::size_t>(leader_of(rank))];
    add_metadata({{"fact", "clock"},
                  {"when", when},
                  {"at", trace::now()},  // by this host's clock, nanoseconds
                  {"offset", of_host.offset},
                  {"error", of_host.error},
                  {"host_leader", leader_of(rank)}});
}

}  // namespace lapwing
