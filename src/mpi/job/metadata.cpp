#include "mpi/job/metadata.hpp"

#include <mpi.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/trace.hpp"
#include "job/rank_locations.hpp"

namespace lapwing {
namespace {

struct ClockReading {
    std::uint64_t at = 0;     // by this host's clock, nanoseconds
    std::int64_t offset = 0;  // to be added to this host's clock for that of rank 0's host
    std::uint64_t error = 0;  // `offset` is wrong by no more: half the shortest round trip
    int host_leader = 0;      // the lowest rank of this host
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

void ask(MPI_Comm communicator, ClockReading& reading) {
    std::uint64_t shortest = UINT64_MAX;
    for (int i = 0; i < round_trips; ++i) {
        const std::uint64_t sent = trace::now();
        PMPI_Send(nullptr, 0, MPI_BYTE, 0, 0, communicator);
        std::uint64_t there = 0;
        PMPI_Recv(&there, 1, MPI_UINT64_T, 0, 0, communicator, MPI_STATUS_IGNORE);
        const std::uint64_t took = trace::now() - sent;
        if (took >= shortest) continue;
        shortest = took;
        reading.offset = static_cast<std::int64_t>(there - (sent + took / 2));
        reading.error = took - took / 2;
    }
}

// Collective over MPI_COMM_WORLD, whose ranks' hosts are known. Ranks of one host have one clock. Returns the
// MPI's error code.
int read_clock(const RankLocations& locations, ClockReading* reading) {
    const auto same_host = [&locations](int a, int b) {
        const std::array both = {a, b};
        return locations.on_one_host(both);
    };
    int rank = 0;
    int ranks = 0;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    PMPI_Comm_size(MPI_COMM_WORLD, &ranks);
    std::vector<int> leaders;
    for (int other = 0; other < ranks; ++other) {
        const bool follows =
            std::any_of(leaders.begin(), leaders.end(), [&](int leader) { return same_host(leader, other); });
        if (!follows) leaders.push_back(other);
    }
    *reading = {};
    for (const int leader : leaders) {
        if (same_host(leader, rank)) reading->host_leader = leader;
    }
    // The program's own messages may still be on their way in MPI_COMM_WORLD.
    MPI_Comm communicator = MPI_COMM_NULL;
    if (const int error = PMPI_Comm_dup(MPI_COMM_WORLD, &communicator); error != MPI_SUCCESS) return error;
    for (const int leader : leaders) {
        if (leader == 0) continue;
        if (rank == 0) answer(leader, communicator);
        if (rank == leader) ask(communicator, *reading);
    }
    std::uint64_t mine[2] = {static_cast<std::uint64_t>(reading->offset), reading->error};
    std::vector<std::uint64_t> all(2 * static_cast<std::size_t>(ranks));
    PMPI_Allgather(mine, 2, MPI_UINT64_T, all.data(), 2, MPI_UINT64_T, communicator);
    const std::size_t place = 2 * static_cast<std::size_t>(reading->host_leader);
    reading->offset = static_cast<std::int64_t>(all[place]);
    reading->error = all[place + 1];
    reading->at = trace::now();
    return PMPI_Comm_free(&communicator);
}

}  // namespace

void add_metadata(const nlohmann::ordered_json& fact) {
    trace::add_metadata(fact.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
}

nlohmann::ordered_json clock_fact(const RankLocations& locations, const char* when) {
    ClockReading reading;
    if (read_clock(locations, &reading) != MPI_SUCCESS) return {};
    return {{"fact", "clock"},          {"when", when},           {"at", reading.at},
            {"offset", reading.offset}, {"error", reading.error}, {"host_leader", reading.host_leader}};
}

void add_clock_metadata(const RankLocations& locations, const char* when) {
    if (const nlohmann::ordered_json fact = clock_fact(locations, when); !fact.empty()) add_metadata(fact);
}

}  // namespace lapwing
