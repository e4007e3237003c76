/* A program as it was written for LibNBC: every function, both generations of NBC_Test and NBC_Wait. */
#include <nbc.h>
#include <stdio.h>
#include <string.h>

#define MOST 8
#define CHECK(condition)                                                                       \
    do {                                                                                       \
        if (!(condition)) {                                                                    \
            ++errors;                                                                          \
            fprintf(stderr, "rank %d: %s:%d: not %s\n", rank, __FILE__, __LINE__, #condition); \
        }                                                                                      \
    } while (0)

static int rank, ranks, errors;

static void complete(NBC_Handle* handle) {
    static int next;
    MPI_Status status;
    int flag = NBC_CONTINUE;
    const int way = next++ % 5;
    if (way == 0) CHECK(NBC_Wait(handle) == NBC_OK);
    if (way == 1) CHECK(NBC_Wait(handle, &status) == NBC_OK);
    while (way == 2 && flag == NBC_CONTINUE) CHECK(NBC_Test(handle, &flag, &status) == NBC_OK);
    while (way == 3 && (flag = NBC_Test(handle)) == NBC_CONTINUE) continue;
    while (way == 4 && (flag = NBC_Testold(handle)) == NBC_CONTINUE) continue;
    CHECK(way < 2 || flag == NBC_OK);
    CHECK(NBC_Test(handle) == NBC_OK); /* again: it stays complete */
}

#define COMPLETE(call)           \
    do {                         \
        CHECK((call) == NBC_OK); \
        complete(&handle);       \
    } while (0)

static int value(int from, int to) {
    return 100 * from + to;
}

static void of_all(MPI_Comm comm) {
    NBC_Handle handle;
    int sent[MOST], got[MOST], counts[MOST], places[MOST];
    int same[MOST], sum = rank, root = ranks - 1;

    COMPLETE(NBC_Ibarrier(comm, &handle));
    sum = rank == root ? 42 : 0;
    COMPLETE(NBC_Ibcast(&sum, 1, MPI_INT, root, comm, &handle));
    CHECK(sum == 42);

    for (int i = 0; i < ranks; ++i) {
        sent[i] = value(rank, i);
        counts[i] = 1;
        places[i] = ranks - 1 - i;
    }
    COMPLETE(NBC_Ialltoall(sent, 1, MPI_INT, got, 1, MPI_INT, comm, &handle));
    for (int i = 0; i < ranks; ++i) CHECK(got[i] == value(i, rank));
    memcpy(same, sent, sizeof same);
    COMPLETE(NBC_Ialltoall(same, 1, MPI_INT, same, 1, MPI_INT, comm, &handle));
    for (int i = 0; i < ranks; ++i) CHECK(same[i] == value(i, rank));
    COMPLETE(NBC_Ialltoallv(sent, counts, places, MPI_INT, got, counts, places, MPI_INT, comm, &handle));
    for (int i = 0; i < ranks; ++i) CHECK(got[places[i]] == value(i, places[rank]));

    COMPLETE(NBC_Iallgather(&rank, 1, MPI_INT, got, 1, MPI_INT, comm, &handle));
    for (int i = 0; i < ranks; ++i) CHECK(got[i] == i);
    memset(got, -1, sizeof got);
    got[places[rank]] = rank;
    COMPLETE(
        NBC_Iallgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, got, counts, places, MPI_INT, comm, &handle));
    for (int i = 0; i < ranks; ++i) CHECK(got[places[i]] == i);

    memset(got, -1, sizeof got);
    got[root] = root;
    COMPLETE(NBC_Igather(rank == root ? got : &rank, 1, MPI_INT, got, 1, MPI_INT, root, comm, &handle));
    for (int i = 0; i < ranks && rank == root; ++i) CHECK(got[i] == i);
    COMPLETE(NBC_Igatherv(&rank, 1, MPI_INT, got, counts, places, MPI_INT, root, comm, &handle));
    for (int i = 0; i < ranks && rank == root; ++i) CHECK(got[places[i]] == i);
    COMPLETE(NBC_Iscatter(sent, 1, MPI_INT, rank == root ? sent : got, 1, MPI_INT, root, comm, &handle));
    CHECK((rank == root ? sent[root] : got[0]) == value(root, rank));
    COMPLETE(NBC_Iscatterv(sent, counts, places, MPI_INT, got, 1, MPI_INT, root, comm, &handle));
    CHECK(got[0] == value(root, places[rank]));
}

static void reducing(MPI_Comm comm) {
    NBC_Handle handle;
    int ones[MOST], got[MOST], counts[MOST];
    int sum = rank + 1, all = ranks * (ranks + 1) / 2;
    for (int i = 0; i < ranks; ++i) {
        ones[i] = i + 1;
        counts[i] = 1;
    }
    COMPLETE(NBC_Ireduce(&sum, got, 1, MPI_INT, MPI_SUM, 0, comm, &handle));
    if (rank == 0) CHECK(got[0] == all);
    COMPLETE(NBC_Iallreduce(&sum, got, 1, MPI_INT, MPI_SUM, comm, &handle));
    CHECK(got[0] == all);
    COMPLETE(NBC_Iscan(&sum, got, 1, MPI_INT, MPI_SUM, comm, &handle));
    CHECK(got[0] == sum * (sum + 1) / 2);
    COMPLETE(NBC_Ireduce_scatter(ones, got, counts, MPI_INT, MPI_SUM, comm, &handle));
    CHECK(got[0] == ranks * (rank + 1));
    /* Equal buffers are in place. */
    COMPLETE(NBC_Iallreduce(&sum, &sum, 1, MPI_INT, MPI_SUM, comm, &handle));
    CHECK(sum == all);
}

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    of_all(MPI_COMM_WORLD);
    reducing(MPI_COMM_WORLD);
    MPI_Allreduce(MPI_IN_PLACE, &errors, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Finalize();
    return errors == 0 ? 0 : 1;
}
