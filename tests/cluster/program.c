/* Each rank says where it is; then all exchange messages and check them. Prints "rank R of N on HOST".
 *   program [ROUNDS [SECONDS COMMAND]]
 * With COMMAND, the last rank runs it while the messages of the second round are in flight, and the rounds go
 * on for SECONDS more. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { count = 20000, long_count = 1000000 };

static int value_of(int from, int to, int i, int round) {
    return from * 1000003 + to * 101 + i + round * 7;
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
    const int rounds = argument_count > 1 ? atoi(arguments[1]) : 1;
    const int each = rounds > 1 ? long_count : count;
    const double seconds = argument_count > 2 ? atof(arguments[2]) : 0;
    double began = MPI_Wtime();

    const size_t all = (size_t)each * (size_t)size;
    int* sent = malloc(sizeof(int) * all);
    int* received = calloc(all, sizeof(int));
    int more = 1;
    for (int round = 0; more != 0; ++round) {
        for (int to = 0; to < size; ++to) {
            for (int i = 0; i < each; ++i) sent[(size_t)to * each + i] = value_of(rank, to, i, round);
        }
        MPI_Request request;
        MPI_Ialltoall(sent, each, MPI_INT, received, each, MPI_INT, MPI_COMM_WORLD, &request);
        if (argument_count > 3 && round == 1) {
            if (rank == size - 1) wrong += system(arguments[3]) != 0;
            began = MPI_Wtime();
        }
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        for (int from = 0; from < size; ++from) {
            for (int i = 0; i < each; ++i)
                wrong += received[(size_t)from * each + i] != value_of(from, rank, i, round);
        }
        more = round + 1 < rounds || MPI_Wtime() - began < seconds;
        MPI_Bcast(&more, 1, MPI_INT, 0, MPI_COMM_WORLD);
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
