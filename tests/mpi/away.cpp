// Short reductions, with a pause of the program between start and wait at one call site, and none at another.
#include <mpi.h>
#include <unistd.h>

#include <cstdio>

#include "reference.hpp"

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    const int rank = rank_in(MPI_COMM_WORLD);
    const int ranks = size_of(MPI_COMM_WORLD);
    bool right = true;
    for (int call = 0; call < 200; ++call) {
        const double in = rank + call;
        double out[2] = {0, 0};
        MPI_Request request;
        MPI_Iallreduce(&in, &out[0], 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &request);
        usleep(300);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        MPI_Iallreduce(&in, &out[1], 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        const double sum = ranks * (ranks - 1) / 2.0 + static_cast<double>(ranks) * call;
        right = right && out[0] == sum && out[1] == sum;
    }
    if (rank == 0) std::printf("%s\n", right ? "all right" : "wrong");
    MPI_Finalize();
    return right ? 0 : 1;
}
