// Two ranks spawn two more and merge with them; prints "all right" once on each rank.
#include <mpi.h>
#include <stdio.h>

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm parent;
    MPI_Comm inter;
    MPI_Comm_get_parent(&parent);
    inter = parent;
    if (parent == MPI_COMM_NULL) {
        MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter,
                       MPI_ERRCODES_IGNORE);
    }
    MPI_Comm all;
    MPI_Intercomm_merge(inter, parent != MPI_COMM_NULL, &all);
    int rank = 0;
    int ranks = 0;
    MPI_Comm_rank(all, &rank);
    MPI_Comm_size(all, &ranks);
    const int mine = rank + 1;
    int of_all = 0;
    int of_others = 0;
    int of_world = 0;
    MPI_Request request;
    MPI_Iallreduce(&mine, &of_all, 1, MPI_INT, MPI_SUM, all, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Iallreduce(&mine, &of_others, 1, MPI_INT, MPI_SUM, inter, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Iallreduce(&mine, &of_world, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (ranks == 4 && of_all == 10 && of_others + of_world == 10) printf("all right\n");
    MPI_Comm_free(&all);
    MPI_Comm_disconnect(&inter);
    MPI_Finalize();
    return 0;
}
