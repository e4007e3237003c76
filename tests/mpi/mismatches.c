// Programs with one mistake each: the calls of the last rank do not match those of all others. The mistake is
// the first argument.
#include <mpi.h>
#include <string.h>

enum { n = 4 };
static int rank, ranks, wrong;
static double in[64], out[64];
static int counts[16], offsets[16], other_counts[16];
static MPI_Comm twin, ring;

static void wait_for(MPI_Request request) {
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

// The wrong rank makes the second call, all others the first.
#define DIFFERENT(name, right, mistaken) \
    static void name(void) {             \
        MPI_Request request;             \
        if (wrong)                       \
            mistaken;                    \
        else                             \
            right;                       \
        wait_for(request);               \
    }
#define W MPI_COMM_WORLD, &request
DIFFERENT(barrier_broadcast, MPI_Ibarrier(W), MPI_Ibcast(in, n, MPI_DOUBLE, 0, W))
DIFFERENT(broadcast_reduce, MPI_Ibcast(in, n, MPI_DOUBLE, 0, W),
          MPI_Ireduce(in, out, n, MPI_DOUBLE, MPI_SUM, 0, W))
DIFFERENT(allreduce_reduce, MPI_Iallreduce(in, out, n, MPI_DOUBLE, MPI_SUM, W),
          MPI_Ireduce(in, out, n, MPI_DOUBLE, MPI_SUM, 0, W))
DIFFERENT(gather_scatter, MPI_Igather(in, 1, MPI_DOUBLE, out, 1, MPI_DOUBLE, 0, W),
          MPI_Iscatter(in, 1, MPI_DOUBLE, out, 1, MPI_DOUBLE, 0, W))
DIFFERENT(allgather_alltoall, MPI_Iallgather(in, 1, MPI_DOUBLE, out, 1, MPI_DOUBLE, W),
          MPI_Ialltoall(in, 1, MPI_DOUBLE, out, 1, MPI_DOUBLE, W))
DIFFERENT(scan_exscan, MPI_Iscan(in, out, n, MPI_DOUBLE, MPI_SUM, W),
          MPI_Iexscan(in, out, n, MPI_DOUBLE, MPI_SUM, W))
DIFFERENT(block_allreduce, MPI_Ireduce_scatter_block(in, out, 1, MPI_DOUBLE, MPI_SUM, W),
          MPI_Iallreduce(in, out, 1, MPI_DOUBLE, MPI_SUM, W))
DIFFERENT(alltoall_alltoallv, MPI_Ialltoall(in, 1, MPI_DOUBLE, out, 1, MPI_DOUBLE, W),
          MPI_Ialltoallv(in, counts, offsets, MPI_DOUBLE, out, counts, offsets, MPI_DOUBLE, W))
DIFFERENT(gather_gatherv, MPI_Igather(in, 1, MPI_DOUBLE, out, 1, MPI_DOUBLE, 0, W),
          MPI_Igatherv(in, 1, MPI_DOUBLE, out, counts, offsets, MPI_DOUBLE, 0, W))
DIFFERENT(root_of_broadcast, MPI_Ibcast(in, n, MPI_DOUBLE, 0, W), MPI_Ibcast(in, n, MPI_DOUBLE, 1, W))
DIFFERENT(root_of_reduce, MPI_Ireduce(in, out, n, MPI_DOUBLE, MPI_SUM, 0, W),
          MPI_Ireduce(in, out, n, MPI_DOUBLE, MPI_SUM, 1, W))
DIFFERENT(root_of_gather, MPI_Igather(in, 1, MPI_DOUBLE, out, 1, MPI_DOUBLE, 0, W),
          MPI_Igather(in, 1, MPI_DOUBLE, out, 1, MPI_DOUBLE, 1, W))
DIFFERENT(root_of_scatter, MPI_Iscatter(in, 1, MPI_DOUBLE, out, 1, MPI_DOUBLE, 0, W),
          MPI_Iscatter(in, 1, MPI_DOUBLE, out, 1, MPI_DOUBLE, 1, W))
DIFFERENT(count_of_broadcast, MPI_Ibcast(in, n, MPI_DOUBLE, 0, W), MPI_Ibcast(in, n - 1, MPI_DOUBLE, 0, W))
DIFFERENT(count_of_allreduce, MPI_Iallreduce(in, out, n, MPI_DOUBLE, MPI_SUM, W),
          MPI_Iallreduce(in, out, n - 1, MPI_DOUBLE, MPI_SUM, W))
DIFFERENT(count_of_allgather, MPI_Iallgather(in, 2, MPI_DOUBLE, out, 2, MPI_DOUBLE, W),
          MPI_Iallgather(in, 1, MPI_DOUBLE, out, 1, MPI_DOUBLE, W))
DIFFERENT(count_of_alltoall, MPI_Ialltoall(in, 2, MPI_DOUBLE, out, 2, MPI_DOUBLE, W),
          MPI_Ialltoall(in, 1, MPI_DOUBLE, out, 1, MPI_DOUBLE, W))
DIFFERENT(count_of_gather, MPI_Igather(in, 2, MPI_DOUBLE, out, 2, MPI_DOUBLE, 0, W),
          MPI_Igather(in, 1, MPI_DOUBLE, out, 1, MPI_DOUBLE, 0, W))
DIFFERENT(count_of_scan, MPI_Iscan(in, out, 2, MPI_DOUBLE, MPI_SUM, W),
          MPI_Iscan(in, out, 1, MPI_DOUBLE, MPI_SUM, W))
DIFFERENT(type_of_allreduce, MPI_Iallreduce(in, out, n, MPI_DOUBLE, MPI_SUM, W),
          MPI_Iallreduce(in, out, n, MPI_LONG, MPI_SUM, W))
DIFFERENT(type_of_reduce, MPI_Ireduce(in, out, n, MPI_FLOAT, MPI_MAX, 0, W),
          MPI_Ireduce(in, out, n, MPI_INT, MPI_MAX, 0, W))
DIFFERENT(operator_of_allreduce, MPI_Iallreduce(in, out, n, MPI_DOUBLE, MPI_SUM, W),
          MPI_Iallreduce(in, out, n, MPI_DOUBLE, MPI_MAX, W))
DIFFERENT(operator_of_scan, MPI_Iscan(in, out, n, MPI_INT, MPI_BAND, W),
          MPI_Iscan(in, out, n, MPI_INT, MPI_BOR, W))
DIFFERENT(counts_of_alltoallv,
          MPI_Ialltoallv(in, counts, offsets, MPI_DOUBLE, out, counts, offsets, MPI_DOUBLE, W),
          MPI_Ialltoallv(in, other_counts, offsets, MPI_DOUBLE, out, counts, offsets, MPI_DOUBLE, W))
DIFFERENT(counts_of_allgatherv, MPI_Iallgatherv(in, 1, MPI_DOUBLE, out, counts, offsets, MPI_DOUBLE, W),
          MPI_Iallgatherv(in, 2, MPI_DOUBLE, out, other_counts, offsets, MPI_DOUBLE, W))
DIFFERENT(counts_of_gatherv, MPI_Igatherv(in, 1, MPI_DOUBLE, out, counts, offsets, MPI_DOUBLE, 0, W),
          MPI_Igatherv(in, 2, MPI_DOUBLE, out, counts, offsets, MPI_DOUBLE, 0, W))
DIFFERENT(counts_of_scatterv, MPI_Iscatterv(in, counts, offsets, MPI_DOUBLE, out, 1, MPI_DOUBLE, 0, W),
          MPI_Iscatterv(in, counts, offsets, MPI_DOUBLE, out, 2, MPI_DOUBLE, 0, W))
DIFFERENT(counts_of_reduce_scatter, MPI_Ireduce_scatter(in, out, counts, MPI_DOUBLE, MPI_SUM, W),
          MPI_Ireduce_scatter(in, out, other_counts, MPI_DOUBLE, MPI_SUM, W))
DIFFERENT(neighbors, MPI_Ineighbor_alltoall(in, 1, MPI_DOUBLE, out, 1, MPI_DOUBLE, ring, &request),
          MPI_Ineighbor_allgather(in, 1, MPI_DOUBLE, out, 1, MPI_DOUBLE, ring, &request))
DIFFERENT(counts_of_neighbors, MPI_Ineighbor_alltoall(in, 1, MPI_DOUBLE, out, 1, MPI_DOUBLE, ring, &request),
          MPI_Ineighbor_alltoall(in, 2, MPI_DOUBLE, out, 2, MPI_DOUBLE, ring, &request))
DIFFERENT(in_place, MPI_Ialltoallv(in, counts, offsets, MPI_DOUBLE, out, counts, offsets, MPI_DOUBLE, W),
          MPI_Ialltoallv(MPI_IN_PLACE, NULL, NULL, MPI_DATATYPE_NULL, out, other_counts, offsets, MPI_DOUBLE,
                         W))
DIFFERENT(form_of_broadcast, MPI_Ibcast(in, n, MPI_DOUBLE, 0, W),
          (MPI_Bcast(in, n, MPI_DOUBLE, 0, MPI_COMM_WORLD), request = MPI_REQUEST_NULL))
DIFFERENT(form_of_allreduce, MPI_Iallreduce(in, out, n, MPI_DOUBLE, MPI_SUM, W),
          (MPI_Allreduce(in, out, n, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD), request = MPI_REQUEST_NULL))

static void order_swapped(void) {
    MPI_Request request[2];
    if (wrong) {
        MPI_Ibarrier(MPI_COMM_WORLD, &request[0]);
        MPI_Ibcast(in, n, MPI_DOUBLE, 0, MPI_COMM_WORLD, &request[1]);
    } else {
        MPI_Ibcast(in, n, MPI_DOUBLE, 0, MPI_COMM_WORLD, &request[0]);
        MPI_Ibarrier(MPI_COMM_WORLD, &request[1]);
    }
    MPI_Waitall(2, request, MPI_STATUSES_IGNORE);
}

// The next call on each communicator names the mistake.
static void communicator(void) {
    MPI_Request request[2];
    MPI_Ibarrier(wrong ? twin : MPI_COMM_WORLD, &request[0]);
    MPI_Iallreduce(in, out, n, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &request[1]);
    MPI_Waitall(2, request, MPI_STATUSES_IGNORE);
}

// Correct, to find false alarms.
static void none(void) {
    MPI_Request request[5];
    MPI_Ibcast(in, n, MPI_DOUBLE, 0, MPI_COMM_WORLD, &request[0]);
    MPI_Ialltoallv(in, counts, offsets, MPI_DOUBLE, out, counts, offsets, MPI_DOUBLE, twin, &request[1]);
    MPI_Igatherv(rank == 0 ? MPI_IN_PLACE : in, 1, MPI_DOUBLE, in + 32, counts, offsets, MPI_DOUBLE, 0,
                 MPI_COMM_WORLD, &request[2]);
    MPI_Ireduce_scatter(in, out + 32, counts, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &request[3]);
    MPI_Ineighbor_alltoall(in, 1, MPI_DOUBLE, out + 48, 1, MPI_DOUBLE, ring, &request[4]);
    MPI_Waitall(5, request, MPI_STATUSES_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
}

// Its form of this list changes at each run.
// clang-format off
#define MISTAKES(X) \
    X(barrier_broadcast) X(broadcast_reduce) X(allreduce_reduce) X(gather_scatter) X(allgather_alltoall) \
    X(scan_exscan) X(block_allreduce) X(alltoall_alltoallv) X(gather_gatherv) X(root_of_broadcast) \
    X(root_of_reduce) X(root_of_gather) X(root_of_scatter) X(count_of_broadcast) X(count_of_allreduce) \
    X(count_of_allgather) X(count_of_alltoall) X(count_of_gather) X(count_of_scan) X(type_of_allreduce) \
    X(type_of_reduce) X(operator_of_allreduce) X(operator_of_scan) X(counts_of_alltoallv) \
    X(counts_of_allgatherv) X(counts_of_gatherv) X(counts_of_scatterv) X(counts_of_reduce_scatter) \
    X(neighbors) X(counts_of_neighbors) X(in_place) X(form_of_broadcast) X(form_of_allreduce) \
    X(order_swapped) X(communicator) X(none)
// clang-format on

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    wrong = rank == ranks - 1;
    for (int i = 0; i < ranks; ++i) {
        counts[i] = 1;
        other_counts[i] = i == 0 ? 2 : 1;
        offsets[i] = 2 * i;
    }
    MPI_Comm_dup(MPI_COMM_WORLD, &twin);
    MPI_Comm_set_name(twin, "twin");
    const int periodic = 1;
    MPI_Cart_create(MPI_COMM_WORLD, 1, &ranks, &periodic, 0, &ring);
#define RUN(name) \
    if (argc > 1 && strcmp(argv[1], #name) == 0) name();
    MISTAKES(RUN)
    MPI_Comm_free(&ring);
    MPI_Comm_free(&twin);
    MPI_Finalize();
    return 0;
}
