// mixture COLLECTIVES: that many random collectives on three communicators, several in flight, with random
// delays; results checked. Prints by how much memory and descriptors have grown in the second half.
#include <mpi.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <deque>
#include <filesystem>
#include <fstream>

#include "random_collective.hpp"

namespace {

long resident_kib() {
    long pages = 0;
    std::ifstream statm("/proc/self/statm");
    statm >> pages >> pages;
    return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

long descriptors() {
    long count = 0;
    for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) ++count;
    return count;
}

}  // namespace

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    const int collectives = argc > 1 ? std::atoi(argv[1]) : 1000;
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm communicators[3] = {MPI_COMM_WORLD, MPI_COMM_NULL, MPI_COMM_NULL};
    MPI_Comm_split(MPI_COMM_WORLD, rank % 4, rank, &communicators[1]);
    MPI_Comm_split(MPI_COMM_WORLD, rank / 4, -rank, &communicators[2]);
    // What is done is the same on all ranks; when it is done differs.
    Random shared(42);
    Random own(static_cast<std::uint64_t>(rank) + 1);
    Random streams[3] = {Random(1), Random(2), Random(3)};
    std::deque<RandomCollective> in_flight;
    int wrong = 0;
    long kib = 0;
    long open = 0;
    const auto wait_until_left = [&](std::size_t number) {
        for (; in_flight.size() > number; in_flight.pop_front()) {
            MPI_Wait(&in_flight.front().request, MPI_STATUS_IGNORE);
            wrong += in_flight.front().right() ? 0 : 1;
        }
    };
    for (int i = 0; i < collectives; ++i) {
        const int which = shared.below(3);
        Random& stream = streams[which];
        in_flight.emplace_back(communicators[which], stream, stream.pick({1, 10, 300, 2000}));
        if (own.one_in(4)) ::usleep(static_cast<useconds_t>(own.below(2000)));
        wait_until_left(6);
        if (i == collectives / 2) {
            kib = resident_kib();
            open = descriptors();
        }
    }
    wait_until_left(0);
    long most[3] = {wrong, resident_kib() - kib, descriptors() - open};
    MPI_Allreduce(MPI_IN_PLACE, most, 3, MPI_LONG, MPI_MAX, MPI_COMM_WORLD);
    if (rank == 0) {
        std::printf("%d collectives: wrong %ld, memory grown by %ld KiB, descriptors by %ld\n", collectives,
                    most[0], most[1], most[2]);
        std::fflush(stdout);
    }
    MPI_Comm_free(&communicators[1]);
    MPI_Comm_free(&communicators[2]);
    MPI_Finalize();
    return most[0] == 0 ? 0 : 1;
}
