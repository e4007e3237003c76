// The MPI program that `lapwing doctor` starts on all ranks: it compares the results of a few collectives
// with the right ones. Each rank reports how far it came, so that the doctor knows where a job hangs. The job
// ends after SECONDS.
//
//   lapwing-survey-FAMILY SECONDS
//
// Lines on standard output:
//
//   lapwing-survey started HOST
//   lapwing-survey initialized RANK HOST
//   lapwing-survey running COLLECTIVE           (rank 0)
//   lapwing-survey wrong COLLECTIVE RANK HOST
//   lapwing-survey result {"version", "ranks", "right", "collectives", engine and links of MPI_COMM_WORLD}
//   (rank 0)
#include <fmt/format.h>
#include <mpi.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>

#include "base/error.hpp"
#include "links/tcp/addresses.hpp"
#include "program/exchange.hpp"

namespace lapwing::survey {
namespace {

using nlohmann::json;

void say(const std::string& words) {
    fmt::print("lapwing-survey {}\n", words);
    std::fflush(stdout);
}

// Returns whether this rank received what it should.
bool try_collective(Collective collective, std::uint64_t bytes, int rank, int ranks) {
    std::uint64_t calls = 0;
    bench::Exchange exchange(collective, bytes, rank, ranks, calls, ranks - 1);
    MPI_Request request = MPI_REQUEST_NULL;
    exchange.fill(1);
    exchange.start(MPI_COMM_WORLD, request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    try {
        exchange.check("");
    } catch (const Error&) {
        return false;
    }
    return true;
}

json try_collectives(int rank, int ranks, const std::string& host) {
    struct Trial {
        Collective collective;
        std::uint64_t bytes;  // of a block
    };
    constexpr std::uint64_t few = 8;
    constexpr std::uint64_t many = 65536;
    const std::uint64_t share = many / static_cast<std::uint64_t>(ranks) + 1;
    const Trial trials[] = {
        {Collective::barrier, 0},      {Collective::broadcast, few},   {Collective::allreduce, few},
        {Collective::allgather, few},  {Collective::alltoall, few},    {Collective::broadcast, many},
        {Collective::allreduce, many}, {Collective::allgather, share}, {Collective::alltoall, share}};
    int right = 0;
    for (const Trial& trial : trials) {
        const std::string name = mpi_name(trial.collective);
        if (rank == 0) say(fmt::format("running {}", name));
        const bool good = try_collective(trial.collective, trial.bytes, rank, ranks);
        if (!good) say(fmt::format("wrong {} {} {}", name, rank, host));
        int all_good = good ? 1 : 0;
        MPI_Allreduce(MPI_IN_PLACE, &all_good, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
        right += all_good;
    }
    char version[MPI_MAX_LIBRARY_VERSION_STRING] = {};
    int length = 0;
    MPI_Get_library_version(version, &length);
    return {{"version", std::string(version, static_cast<std::size_t>(length))},
            {"ranks", ranks},
            {"right", right},
            {"collectives", std::size(trials)}};
}

// The info values of MPI_COMM_WORLD, which are known after the first collective; empty without Lapwing.
void add_links(json& result) {
    MPI_Info info = MPI_INFO_NULL;
    MPI_Comm_get_info(MPI_COMM_WORLD, &info);
    const auto add = [&](const char* name, const char* key) {
        char value[MPI_MAX_INFO_VAL + 1] = {};
        int found = 0;
        MPI_Info_get(info, key, MPI_MAX_INFO_VAL, value, &found);
        result[name] = found != 0 ? value : "";
    };
    add("engine", "lapwing_engine_used");
    add("messages", "lapwing_messages");
    add("link_inside_host", "lapwing_link_inside_host");
    add("link_between_hosts", "lapwing_link_between_hosts");
    MPI_Info_free(&info);
}

}  // namespace
}  // namespace lapwing::survey

int main(int argument_count, char** arguments) {
    using namespace lapwing;
    // The job must not outlive `lapwing doctor`.
    if (argument_count == 2) alarm(static_cast<unsigned>(std::atoi(arguments[1])));
    const std::string host = tcp::host_name();
    survey::say(fmt::format("started {}", host));
    MPI_Init(&argument_count, &arguments);
    int rank = 0;
    int ranks = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    survey::say(fmt::format("initialized {} {}", rank, host));
    nlohmann::json result = survey::try_collectives(rank, ranks, host);
    if (rank == 0) {
        survey::add_links(result);
        survey::say(
            fmt::format("result {}", result.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace)));
    }
    MPI_Finalize();
    return 0;
}
