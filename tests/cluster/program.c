/* Each rank says where it is; then all exchange messages and check them. Prints "rank R of N on HOST". */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { count = 20000 };

static int value_of(int from, int to, int i) {
    return from * 1000003 + to * 101 + i;
}

int main(int argument_count, char** arguments) {
    int rank = 0;
    int size = 0;
    int wrong = 0;
    char host[256] = "";
    MPI_Init(&argument_count, &arguments);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    gethostname(host, sizeof host - 1);

    const size_t all = (size_t)count * (size_t)size;
    int* sent = malloc(sizeof(int) * all);
    int* received = calloc(all, sizeof(int));
    for (int to = 0; to < size; ++to) {
        for (int i = 0; i < count; ++i) sent[(size_t)to * count + i] = value_of(rank, to, i);
    }
    MPI_Request request;
    MPI_Ialltoall(sent, count, MPI_INT, received, count, MPI_INT, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    for (int from = 0; from < size; ++from) {
        for (int i = 0; i < count; ++i)
            wrong += received[(size_t)from * count + i] != value_of(from, rank, i);
    }
    int all_wrong = 0;
    MPI_Allreduce(&wrong, &all_wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (all_wrong == 0) printf("rank %d of %d on %s\n", rank, size, host);
    fflush(stdout);
    free(sent);
    free(received);
    MPI_Finalize();
    return all_wrong == 0 ? 0 : 1;
}
