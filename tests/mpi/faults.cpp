// An MPI program that does what its argument says, to see how it ends:
//   killed    rank 1 is killed while collectives are in flight
//   plain     nothing special: a few collectives
//   steady    the same for some seconds, so that something can happen meanwhile
#include <mpi.h>

#include <csignal>
#include <cstdio>
#include <cstring>
#include <vector>

#include <unistd.h>

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    int rank = 0;
    int ranks = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    const int count = 100'000;
    std::vector<int> sent(static_cast<std::size_t>(count * ranks), rank);
    std::vector<int> received(sent.size());
    const bool steady = argc > 1 && std::strcmp(argv[1], "steady") == 0;
    for (int i = 0; i < (steady ? 80 : 10); ++i) {
        if (steady) ::usleep(100'000);
        MPI_Request requests[2];
        MPI_Ialltoall(sent.data(), count, MPI_INT, received.data(), count, MPI_INT, MPI_COMM_WORLD,
                      &requests[0]);
        MPI_Ibarrier(MPI_COMM_WORLD, &requests[1]);
        if (argc > 1 && std::strcmp(argv[1], "killed") == 0 && rank == 1 && i == 5) {
            std::printf("rank 1 is about to be killed\n");
            std::fflush(stdout);
            ::kill(::getpid(), SIGKILL);
        }
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    }
    if (rank == 0) std::printf("all done\n");
    MPI_Finalize();
    return 0;
}
