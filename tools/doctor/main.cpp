// The MPI program of `lapwing doctor`: a few collectives, whose results are compared with what they must be.
// Each rank says how far it has come, so that a job that hangs can be told where.
//
//   lapwing-doctor-mpi started HOST
//   lapwing-doctor-mpi initialized RANK HOST
//   lapwing-doctor-mpi running COLLECTIVE           (rank 0)
//   lapwing-doctor-mpi wrong COLLECTIVE RANK HOST
//   lapwing-doctor-mpi result JSON                  (rank 0)
#include <fmt/format.h>
#include <mpi.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "links/tcp/addresses.hpp"

namespace {

int rank = 0;
int ranks = 1;

void say(const std::string& words) {
    fmt::print("lapwing-doctor-mpi {}\n", words);
    std::fflush(stdout);
}

// What `from` has for `to` at `place`.
int value_of(int from, int to, std::size_t place) {
    return from * 1'000'003 + to * 1009 + static_cast<int>(place);
}

using Numbers = std::vector<int>;

bool barrier(int) {
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Ibarrier(MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    return true;
}

bool broadcast(int count) {
    const int root = ranks - 1;
    Numbers data(static_cast<std::size_t>(count));
    for (std::size_t i = 0; rank == root && i < data.size(); ++i) data[i] = value_of(root, 0, i);
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Ibcast(data.data(), count, MPI_INT, root, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    for (std::size_t i = 0; i < data.size(); ++i) {
        if (data[i] != value_of(root, 0, i)) return false;
    }
    return true;
}

bool allreduce(int count) {
    Numbers in(static_cast<std::size_t>(count));
    Numbers out(in.size());
    for (std::size_t i = 0; i < in.size(); ++i) in[i] = rank + static_cast<int>(i);
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Iallreduce(in.data(), out.data(), count, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    for (std::size_t i = 0; i < out.size(); ++i) {
        if (out[i] != ranks * (ranks - 1) / 2 + ranks * static_cast<int>(i)) return false;
    }
    return true;
}

bool allgather(int count) {
    const auto block = static_cast<std::size_t>(count);
    Numbers in(block);
    Numbers out(block * static_cast<std::size_t>(ranks));
    for (std::size_t i = 0; i < block; ++i) in[i] = value_of(rank, 0, i);
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Iallgather(in.data(), count, MPI_INT, out.data(), count, MPI_INT, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    for (int from = 0; from < ranks; ++from) {
        for (std::size_t i = 0; i < block; ++i) {
            if (out[static_cast<std::size_t>(from) * block + i] != value_of(from, 0, i)) return false;
        }
    }
    return true;
}

bool alltoall(int count) {
    const auto block = static_cast<std::size_t>(count);
    Numbers in(block * static_cast<std::size_t>(ranks));
    Numbers out(in.size());
    for (int to = 0; to < ranks; ++to) {
        for (std::size_t i = 0; i < block; ++i)
            in[static_cast<std::size_t>(to) * block + i] = value_of(rank, to, i);
    }
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Ialltoall(in.data(), count, MPI_INT, out.data(), count, MPI_INT, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    for (int from = 0; from < ranks; ++from) {
        for (std::size_t i = 0; i < block; ++i) {
            if (out[static_cast<std::size_t>(from) * block + i] != value_of(from, rank, i)) return false;
        }
    }
    return true;
}

// What Lapwing says of MPI_COMM_WORLD; empty where it is not there.
std::string told(MPI_Info info, const char* key) {
    char value[MPI_MAX_INFO_VAL + 1] = {};
    int found = 0;
    MPI_Info_get(info, key, MPI_MAX_INFO_VAL, value, &found);
    return found ? value : "";
}

}  // namespace

int main(int argument_count, char** arguments) {
    // `lapwing doctor` says after how many seconds nothing of the job may be left.
    if (argument_count > 1) alarm(static_cast<unsigned>(std::atoi(arguments[1])));
    const std::string host = lapwing::tcp::host_name();
    say(fmt::format("started {}", host));
    MPI_Init(&argument_count, &arguments);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    say(fmt::format("initialized {} {}", rank, host));

    struct Trial {
        const char* name;
        bool (*run)(int count);
        int count;  // of integers in a block
    };
    constexpr int few = 2;
    constexpr int many = 16384;
    const Trial trials[] = {{"Ibarrier", barrier, 0},
                            {"Ibcast", broadcast, few},
                            {"Iallreduce", allreduce, few},
                            {"Iallgather", allgather, few},
                            {"Ialltoall", alltoall, few},
                            {"Ibcast", broadcast, many},
                            {"Iallreduce", allreduce, many},
                            {"Iallgather", allgather, many / ranks + 1},
                            {"Ialltoall", alltoall, many / ranks + 1}};
    int right = 0;
    for (const Trial& trial : trials) {
        if (rank == 0) say(fmt::format("running {}", trial.name));
        const bool good = trial.run(trial.count);
        if (!good) say(fmt::format("wrong {} {} {}", trial.name, rank, host));
        int all_good = good ? 1 : 0;
        MPI_Allreduce(MPI_IN_PLACE, &all_good, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
        right += all_good;
    }
    if (rank == 0) {
        char version[MPI_MAX_LIBRARY_VERSION_STRING] = {};
        int length = 0;
        MPI_Get_library_version(version, &length);
        MPI_Info info = MPI_INFO_NULL;
        MPI_Comm_get_info(MPI_COMM_WORLD, &info);
        const nlohmann::json result = {{"version", std::string(version, static_cast<std::size_t>(length))},
                                       {"ranks", ranks},
                                       {"right", right},
                                       {"collectives", std::size(trials)},
                                       {"engine", told(info, "lapwing_engine_used")},
                                       {"link_inside_host", told(info, "lapwing_link_inside_host")},
                                       {"link_between_hosts", told(info, "lapwing_link_between_hosts")}};
        MPI_Info_free(&info);
        say(fmt::format("result {}", result.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace)));
    }
    MPI_Finalize();
    return 0;
}
