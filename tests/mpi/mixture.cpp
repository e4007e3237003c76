// mixture COLLECTIVES [COPIES]: that many random collectives on three communicators and copies of
// MPI_COMM_WORLD, several in flight, with random delays; results checked. Prints by how much memory and
// descriptors have grown in the second half.
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
    const int copies = argc > 2 ? std::atoi(argv[2]) : 0;
    std::vector<MPI_Comm> communicators(3 + static_cast<std::size_t>(copies), MPI_COMM_WORLD);
    MPI_Comm_split(MPI_COMM_WORLD, rank % 4, rank, &communicators[1]);
    MPI_Comm_split(MPI_COMM_WORLD, rank / 4, -rank, &communicators[2]);
    for (std::size_t i = 3; i < communicators.size(); ++i) MPI_Comm_dup(MPI_COMM_WORLD, &communicators[i]);
    // What is done is the same on all ranks; when it is done differs.
    Random shared(42);
    Random own(static_cast<std::uint64_t>(rank) + 1);
    std::vector<Random> streams;
    for (std::size_t i = 1; i <= communicators.size(); ++i) streams.emplace_back(i);
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
        const auto which = static_cast<std::size_t>(shared.below(static_cast<int>(communicators.size())));
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
    for (std::size_t i = 1; i < communicators.size(); ++i) MPI_Comm_free(&communicators[i]);
    MPI_Finalize();
    return most[0] == 0 ? 0 : 1;
}
