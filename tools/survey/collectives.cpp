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
#include <vector>

#include "survey/main.hpp"

namespace lapwing::survey {
namespace {

int rank = 0;
int ranks = 1;

using Numbers = std::vector<int>;

// Number `index` of the block that rank `from` sends to rank `to`.
int value_of(int from, int to, std::size_t index) {
    return from * 1'000'003 + to * 1009 + static_cast<int>(index);
}

// The block from rank `from` to rank `to`.
void fill(Numbers& data, std::size_t begin, int count, int from, int to) {
    for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) data[begin + i] = value_of(from, to, i);
}
Numbers blocks(int count, int number) {
    return Numbers(static_cast<std::size_t>(count) * static_cast<std::size_t>(number));
}
std::size_t block_of(int rank_of_block, int count) {
    return static_cast<std::size_t>(rank_of_block) * static_cast<std::size_t>(count);
}

bool broadcast(int count) {
    const int root = ranks - 1;
    Numbers data = blocks(count, 1);
    Numbers expected = data;
    fill(expected, 0, count, root, 0);
    if (rank == root) data = expected;
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Ibcast(data.data(), count, MPI_INT, root, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    return data == expected;
}

bool allreduce(int count) {
    Numbers in = blocks(count, 1);
    Numbers out = in;
    Numbers expected = in;
    for (int i = 0; i < count; ++i) {
        in[static_cast<std::size_t>(i)] = rank + i;
        expected[static_cast<std::size_t>(i)] = ranks * (ranks - 1) / 2 + ranks * i;
    }
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Iallreduce(in.data(), out.data(), count, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    return out == expected;
}

bool allgather(int count) {
    Numbers in = blocks(count, 1);
    Numbers out = blocks(count, ranks);
    Numbers expected = out;
    fill(in, 0, count, rank, 0);
    for (int from = 0; from < ranks; ++from) fill(expected, block_of(from, count), count, from, 0);
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Iallgather(in.data(), count, MPI_INT, out.data(), count, MPI_INT, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    return out == expected;
}

bool alltoall(int count) {
    Numbers in = blocks(count, ranks);
    Numbers out = in;
    Numbers expected = in;
    for (int other = 0; other < ranks; ++other) {
        fill(in, block_of(other, count), count, rank, other);
        fill(expected, block_of(other, count), count, other, rank);
    }
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Ialltoall(in.data(), count, MPI_INT, out.data(), count, MPI_INT, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    return out == expected;
}

}  // namespace

void barrier() {
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Ibarrier(MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

nlohmann::json try_collectives(int own_rank, int number_of_ranks, const std::string& host) {
    rank = own_rank;
    ranks = number_of_ranks;
    struct Trial {
        const char* name;
        bool (*run)(int count);
        int count;  // of integers in a block
    };
    constexpr int few = 2;
    constexpr int many = 16384;
    const Trial trials[] = {{"Ibarrier", [](int) { return barrier(), true; }, 0},
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
    char version[MPI_MAX_LIBRARY_VERSION_STRING] = {};
    int length = 0;
    MPI_Get_library_version(version, &length);
    return {{"version", std::string(version, static_cast<std::size_t>(length))},
            {"ranks", ranks},
            {"right", right},
            {"collectives", std::size(trials)}};
}

}  // namespace lapwing::survey
