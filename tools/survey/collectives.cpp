// A few collectives, whose results are compared with the right ones. Each rank reports how far it came:
// `lapwing doctor` then knows where a job hangs.
//
//   lapwing-survey started HOST
//   lapwing-survey initialized RANK HOST
//   lapwing-survey running COLLECTIVE           (rank 0)
//   lapwing-survey wrong COLLECTIVE RANK HOST
#include <fmt/format.h>
#include <mpi.h>

#include <iterator>

#include "base/error.hpp"
#include "program/exchange.hpp"
#include "survey/main.hpp"

namespace lapwing::survey {
namespace {

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

}  // namespace

nlohmann::json try_collectives(int rank, int ranks, const std::string& host) {
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

}  // namespace lapwing::survey
