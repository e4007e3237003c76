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
static int barriers;

/* A tool stands in front of a function, and calls it by its other name. */
int NBC_Ibarrier(MPI_Comm comm, NBC_Handle* handle) {
    ++barriers;
    return PNBC_Ibarrier(comm, handle);
}

static void complete(NBC_Handle* handle) {
    static int next;
    MPI_Status status;
    int flag = NBC_CONTINUE;
    switch (next++ % 5) {
        case 0:
            CHECK(NBC_Wait(handle) == NBC_OK);
            break;
        case 1:
            CHECK(NBC_Wait(handle, &status) == NBC_OK);
            break;
        case 2:
            while (flag == NBC_CONTINUE) CHECK(NBC_Test(handle, &flag, &status) == NBC_OK);
            CHECK(flag == NBC_OK);
            break;
        case 3:
            while ((flag = NBC_Test(handle)) == NBC_CONTINUE) continue;
            CHECK(flag == NBC_OK);
            break;
        default:
            while ((flag = NBC_Testold(handle)) == NBC_CONTINUE) continue;
            CHECK(flag == NBC_OK);
    }
    CHECK(NBC_Test(handle) == NBC_OK); /* again: it stays complete */
}

static int value(int from, int to) {
    return 100 * from + to;
}

static void of_all(MPI_Comm comm) {
    NBC_Handle handle;
    int sent[MOST], got[MOST], counts[MOST], places[MOST];
    int same[MOST], sum = rank, root = ranks - 1;

    CHECK(NBC_Ibarrier(comm, &handle) == NBC_OK);
    complete(&handle);
    sum = rank == root ? 42 : 0;
    NBC_Ibcast(&sum, 1, MPI_INT, root, comm, &handle);
    complete(&handle);
    CHECK(sum == 42);

    for (int i = 0; i < ranks; ++i) {
        sent[i] = value(rank, i);
        counts[i] = 1;
        places[i] = ranks - 1 - i;
    }
    NBC_Ialltoall(sent, 1, MPI_INT, got, 1, MPI_INT, comm, &handle);
    complete(&handle);
    for (int i = 0; i < ranks; ++i) CHECK(got[i] == value(i, rank));
    memcpy(same, sent, sizeof same);
    NBC_Ialltoall(same, 1, MPI_INT, same, 1, MPI_INT, comm, &handle);
    complete(&handle);
    for (int i = 0; i < ranks; ++i) CHECK(same[i] == value(i, rank));
    NBC_Ialltoallv(sent, counts, places, MPI_INT, got, counts, places, MPI_INT, comm, &handle);
    complete(&handle);
    for (int i = 0; i < ranks; ++i) CHECK(got[places[i]] == value(i, places[rank]));

    NBC_Iallgather(&rank, 1, MPI_INT, got, 1, MPI_INT, comm, &handle);
    complete(&handle);
    for (int i = 0; i < ranks; ++i) CHECK(got[i] == i);
    memset(got, -1, sizeof got);
    got[places[rank]] = rank;
    NBC_Iallgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, got, counts, places, MPI_INT, comm, &handle);
    complete(&handle);
    for (int i = 0; i < ranks; ++i) CHECK(got[places[i]] == i);

    memset(got, -1, sizeof got);
    got[root] = root;
    NBC_Igather(rank == root ? got : &rank, 1, MPI_INT, got, 1, MPI_INT, root, comm, &handle);
    complete(&handle);
    for (int i = 0; i < ranks && rank == root; ++i) CHECK(got[i] == i);
    NBC_Igatherv(&rank, 1, MPI_INT, got, counts, places, MPI_INT, root, comm, &handle);
    complete(&handle);
    for (int i = 0; i < ranks && rank == root; ++i) CHECK(got[places[i]] == i);
    NBC_Iscatter(sent, 1, MPI_INT, rank == root ? sent : got, 1, MPI_INT, root, comm, &handle);
    complete(&handle);
    CHECK((rank == root ? sent[root] : got[0]) == value(root, rank));
    NBC_Iscatterv(sent, counts, places, MPI_INT, got, 1, MPI_INT, root, comm, &handle);
    complete(&handle);
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
    NBC_Ireduce(&sum, got, 1, MPI_INT, MPI_SUM, 0, comm, &handle);
    complete(&handle);
    if (rank == 0) CHECK(got[0] == all);
    NBC_Iallreduce(&sum, got, 1, MPI_INT, MPI_SUM, comm, &handle);
    complete(&handle);
    CHECK(got[0] == all);
    NBC_Iscan(&sum, got, 1, MPI_INT, MPI_SUM, comm, &handle);
    complete(&handle);
    CHECK(got[0] == sum * (sum + 1) / 2);
    NBC_Ireduce_scatter(ones, got, counts, MPI_INT, MPI_SUM, comm, &handle);
    complete(&handle);
    CHECK(got[0] == ranks * (rank + 1));
    /* Equal buffers are in place. */
    NBC_Iallreduce(&sum, &sum, 1, MPI_INT, MPI_SUM, comm, &handle);
    complete(&handle);
    CHECK(sum == all);
}

static void neighbours(void) {
    NBC_Handle handle;
    MPI_Comm ring;
    int periodic = 1, sources[2], destinations[2], in, out, weighted, one[2] = {1, 1}, places[2] = {1, 0};
    MPI_Datatype types[2] = {MPI_INT, MPI_INT};
    MPI_Cart_create(MPI_COMM_WORLD, 1, &ranks, &periodic, 0, &ring);
    const int before = (rank + ranks - 1) % ranks, after = (rank + 1) % ranks;
    const int further[2] = {(before + ranks - 1) % ranks, (after + 1) % ranks};

    CHECK(NBC_Comm_neighbors_count(ring, &in, &out, &weighted) == NBC_OK);
    CHECK(in == 2 && out == 2 && weighted == 0);
    CHECK(NBC_Comm_neighbors(ring, 2, sources, MPI_UNWEIGHTED, 2, destinations, MPI_UNWEIGHTED) == NBC_OK);
    CHECK(sources[0] == before && sources[1] == after && destinations[0] == before);
    CHECK(NBC_Comm_neighbors_count(MPI_COMM_WORLD, &in, &out, &weighted) == NBC_INVALID_TOPOLOGY_COMM);

    int sent[2] = {value(rank, before), value(rank, after)};
    int got[2] = {-1, -1};
    NBC_Ineighbor_xchg(sent, 1, MPI_INT, got, 1, MPI_INT, ring, &handle);
    complete(&handle);
    CHECK(got[0] == value(before, rank) && got[1] == value(after, rank));
    memcpy(got, sent, sizeof got);
    NBC_Ineighbor_alltoall(got, 1, MPI_INT, got, 1, MPI_INT, ring, &handle);
    complete(&handle);
    CHECK(got[0] == value(before, rank) && got[1] == value(after, rank));
    NBC_Ineighbor_xchgv(sent, one, places, MPI_INT, got, one, places, MPI_INT, ring, &handle);
    complete(&handle);
    CHECK(got[1] == value(before, further[0]) && got[0] == value(after, further[1]));
    NBC_Ineighbor_alltoallv(sent, one, places, MPI_INT, got, one, places, MPI_INT, ring, &handle);
    complete(&handle);
    CHECK(got[1] == value(before, further[0]) && got[0] == value(after, further[1]));
    CHECK(NBC_Ineighbor_alltoallv(got, one, places, MPI_INT, got, one, places, MPI_INT, ring, &handle) ==
          NBC_NOT_IMPLEMENTED);
    NBC_Ineighbor_alltoallw(sent, one, types, got, one, types, ring, &handle);
    complete(&handle);
    CHECK(got[0] == value(before, rank) && got[1] == value(after, rank));
    NBC_Ineighbor_allgather(&rank, 1, MPI_INT, got, 1, MPI_INT, ring, &handle);
    complete(&handle);
    CHECK(got[0] == before && got[1] == after);
    NBC_Ineighbor_allgatherv(&rank, 1, MPI_INT, got, one, places, MPI_INT, ring, &handle);
    complete(&handle);
    CHECK(got[1] == before && got[0] == after);

    for (int shift = -2; shift <= 2; ++shift) {
        const int from = (rank - shift + 2 * ranks) % ranks;
        NBC_Icart_shift_xchg(&rank, 1, MPI_INT, got, 1, MPI_INT, 0, shift, ring, &handle);
        complete(&handle);
        CHECK(got[0] == from);
        got[0] = rank;
        NBC_Icart_shift_xchg(MPI_IN_PLACE, 1, MPI_INT, got, 1, MPI_INT, 0, shift, ring, &handle);
        complete(&handle);
        CHECK(got[0] == from);
    }
    MPI_Comm_free(&ring);
}

/* From rank 0 of the even ranks to the odd ones. */
static void between(void) {
    NBC_Handle handle;
    MPI_Comm half, inter;
    int number = rank == 0 ? 42 : 0;
    if (ranks < 2) return;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, 0, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - rank % 2, 0, &inter);
    NBC_Ibcast_inter(&number, 1, MPI_INT,
                     rank % 2    ? 0
                     : rank == 0 ? MPI_ROOT
                                 : MPI_PROC_NULL,
                     inter, &handle);
    complete(&handle);
    CHECK(number == (rank == 0 || rank % 2 ? 42 : 0));
    MPI_Comm_free(&inter);
    MPI_Comm_free(&half);
}

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    of_all(MPI_COMM_WORLD);
    reducing(MPI_COMM_WORLD);
    neighbours();
    between();
    CHECK(barriers == 1);
    MPI_Allreduce(MPI_IN_PLACE, &errors, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Finalize();
    return errors == 0 ? 0 : 1;
}
