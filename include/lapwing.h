/* Lapwing's collectives for programs and libraries without MPI (and for MPI libraries): a collective is
 * compiled into a task list, and an engine runs the list while the program computes.
 *
 * lapwing_group_create makes a group of ranks of several processes, by an exchange function of the caller's.
 * lapwing_allreduce and its like start a collective and return at once, with an operation.
 * lapwing_wait waits for an operation.
 * lapwing_plan_create makes a collective ready that is started again and again.
 *
 * Order. All ranks of a group start the same collectives in the same order, with arguments that fit together,
 * as in MPI. A start does not wait for other ranks.
 *
 * Threads. Every function may be called by any thread at any time; those that concern one group take turns.
 * What must not be used at once by two threads is one operation, and the order of starts must be that of the
 * other ranks: several threads that start in one group need an order of their own.
 *
 * Progress. The kernel engine runs lists while the program computes. The host engine's lists, and copies and
 * reductions between the steps of the kernel engine's (unless the option progress_thread is set), move while
 * a thread is in lapwing_test or in one of the lapwing_wait functions, which move all operations of all
 * groups of the process.
 *
 * Errors. Functions that can fail return a lapwing_status and leave a message for the calling thread in
 * lapwing_message(). Nothing is printed, no signal is raised and no process is ended. When a rank ends, or
 * the network does not reach it for `timeout` seconds, all operations in flight end with LAPWING_LINK at all
 * ranks, and the group can only be destroyed. A process that exits without lapwing_group_destroy has ended in
 * this sense.
 *
 * fork. A child has none of its parent's groups: it must not use them, but may make groups of its own. */
#ifndef LAPWING_H
#define LAPWING_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/* Of this header; lapwing_version() is that of the library. */
#define LAPWING_VERSION "0.2.0"

typedef enum lapwing_status {
    LAPWING_SUCCESS = 0,
    LAPWING_INVALID_ARGUMENT = 1, /* the caller's: of the call, an option or a variable */
    LAPWING_UNSUPPORTED = 2,      /* valid, but nothing here can do it */
    LAPWING_LINK = 3,             /* a rank has ended, has given up or is out of reach: the group is broken */
    LAPWING_SYSTEM = 4,           /* the system refused: descriptors, threads, addresses */
    LAPWING_NO_MEMORY = 5,
    LAPWING_EXCHANGE = 6, /* the exchange function failed, or the blocks are not those of the ranks */
    LAPWING_INTERNAL = 7  /* a fault of Lapwing itself */
} lapwing_status;

/* "0.2.0". Static memory. */
const char* lapwing_version(void);
/* What the last function of this thread that failed has to say, in one line; "" before that. Stays as it is
 * until the next failure in this thread. */
const char* lapwing_message(void);
/* "LAPWING_LINK". Static memory; "unknown" for what is no status. */
const char* lapwing_status_name(lapwing_status status);

/* -------- Groups -------- */

typedef struct lapwing_group lapwing_group;

/* An allgather by the caller's own means (a launcher, a file, pipes to a parent, an MPI): gives this rank's
 * `block` of `bytes` bytes to all ranks, and fills `blocks` with `bytes` bytes of each rank, rank 0's first.
 * Blocks until all are there. Gives back 0, or anything else when it has failed; then lapwing_group_create
 * fails with LAPWING_EXCHANGE. `bytes` is the same at all ranks, about a kilobyte. The memory is the
 * library's, for the time of the call.
 *
 * lapwing_group_create calls it once, in the calling thread, at every rank; what it gives to one rank it must
 * give to all. The blocks hold the group's key: who can read them can join the group, so a file should have
 * mode 0600. */
typedef int lapwing_exchange(void* context, const void* block, void* blocks, size_t bytes);

/* Makes a group of `size` ranks, of which the caller is `rank`. Collective: called by all ranks, it returns
 * when this rank has connected with the group, or failed. `exchange` is not called in a group of one, and may
 * be null there. `options`: null, or strings "name=value" ended by a null pointer; the names are those of the
 * variables LAPWING_* in lower case, as "engine=kernel" or "tcp_interface=eth0", and override the
 * variables. lapwing(3) lists them. Strings and context need not outlive the call.
 *
 * *group belongs to the caller, who gives it to lapwing_group_destroy; null after an error. A group has an
 * event thread, which sleeps but for connections, and a listening socket.
 *
 * LAPWING_INVALID_ARGUMENT: an argument, option or variable; or they differ between ranks. LAPWING_EXCHANGE,
 * LAPWING_SYSTEM, LAPWING_LINK: as above; a rank that fails before the exchange tells its reason to all. */
lapwing_status lapwing_group_create(int rank, int size, lapwing_exchange* exchange, void* context,
                                    const char* const* options, lapwing_group** group);

/* Frees the group; a null pointer does nothing. Collective if UCX, libfabric, or TCP by a progress thread
 * joins the ranks: waits until all ranks destroy the group, or one has ended. Local otherwise. Nothing of the
 * group may be in use. LAPWING_INVALID_ARGUMENT, and nothing is freed, when operations have not been waited
 * for or plans not been destroyed. */
lapwing_status lapwing_group_destroy(lapwing_group* group);

/* Breaks the group: all operations in flight end with LAPWING_LINK here and at all other ranks, with `why` in
 * their message (null: no reason). For a rank that cannot go on: the others would wait for it. It may be
 * called while other threads wait. */
lapwing_status lapwing_group_abort(lapwing_group* group, const char* why);

int lapwing_group_rank(const lapwing_group* group);
int lapwing_group_size(const lapwing_group* group);
/* The engine that runs the group's lists: "kernel", "host", "triggered" or "mlx5". Static memory. */
const char* lapwing_group_engine(const lapwing_group* group);
/* Why it is not the kernel engine: "rank 3 (node2): ..."; "" when it is, or is not wanted. Lives as long as
 * the group. */
const char* lapwing_group_note(const lapwing_group* group);
/* How the ranks of one host exchange messages on the host engine: "shared memory; ...", or "no shared memory:
 * rank 3 (node2): ..." with the reason; then they do by TCP, as ranks of different hosts. The same at all
 * ranks,
 * "" where each host has one. For people. Lives as long as the group. */
const char* lapwing_group_inside_host(const lapwing_group* group);
/* The network that joins the ranks: "ucx (UCX 1.13.1, tcp on eth0)", "tcp (the kernel engine, eth0)"; "" for
 * the group's own connections, or if all ranks share the memory of one host. The same at all ranks, and lives
 * as long as the group. */
const char* lapwing_group_network(const lapwing_group* group);

/* Gets lines that are no errors of the job, in a thread of the library's: who was turned away at the port of
 * a group. Null, the default: nobody. For all groups of the process. `log` must not call the library; when
 * lapwing_set_log returns, the former one does not run any more. */
typedef void lapwing_log(void* context, const char* line);
void lapwing_set_log(lapwing_log* log, void* context);

/* -------- Operations -------- */

/* A collective that has been started. Belongs to the caller until it is complete; every start gives one,
 * which must be waited for, or tested until it is complete. Until then the buffers stay in place; what is
 * received there must not be read or written, what is sent must not be written. They are host memory: memory
 * of a device must be copied by the caller. */
typedef struct lapwing_operation lapwing_operation;

/* *complete: whether *operation is complete. When it is (also with an error) *operation is freed and becomes
 * null, and the buffers are the caller's again. A null *operation is complete. Does not wait. */
lapwing_status lapwing_test(lapwing_operation** operation, int* complete);
/* Waits until *operation is complete; it is freed and becomes null, also with an error. The thread sleeps
 * where nothing happens. */
lapwing_status lapwing_wait(lapwing_operation** operation);
/* Waits for all of them, in any groups, some of which may be null. The status and message are those of the
 * first in the array that failed. */
lapwing_status lapwing_wait_all(size_t count, lapwing_operation** operations);

/* -------- Data and reductions -------- */

/* In place of `in` (of `out` in scatter and scatterv): the data stands where the result is to stand, as in
 * MPI. At the root only in gather, gatherv, scatter, scatterv and reduce. Not in alltoall, alltoallv and the
 * neighbour collectives. */
#define LAPWING_IN_PLACE ((void*)-1)

/* A block, where blocks are not of one length side by side: `offset` bytes into the buffer. Arrays of them
 * are read by the call and not kept. */
typedef struct lapwing_part {
    uint64_t offset;
    uint64_t bytes;
} lapwing_part;

typedef enum lapwing_type {
    LAPWING_INT8 = 0,
    LAPWING_INT16 = 1,
    LAPWING_INT32 = 2,
    LAPWING_INT64 = 3,
    LAPWING_UINT8 = 4,
    LAPWING_UINT16 = 5,
    LAPWING_UINT32 = 6,
    LAPWING_UINT64 = 7,
    LAPWING_FLOAT32 = 8, /* float */
    LAPWING_FLOAT64 = 9  /* double */
} lapwing_type;

typedef enum lapwing_operator {
    LAPWING_SUM = 0, /* sums and products of integers wrap around */
    LAPWING_PRODUCT = 1,
    LAPWING_MINIMUM = 2,
    LAPWING_MAXIMUM = 3,
    LAPWING_BIT_AND = 4, /* from here on of integers only */
    LAPWING_BIT_OR = 5,
    LAPWING_BIT_XOR = 6,
    LAPWING_LOGICAL_AND = 7,
    LAPWING_LOGICAL_OR = 8,
    LAPWING_LOGICAL_XOR = 9,
    LAPWING_USER = 100 /* the caller's own function */
} lapwing_operator;

/* right[i] = left[i] op right[i] for `count` elements; left comes from lower ranks than right. Associative.
 * Elements may stand at any address. Called in threads of the caller's that are in a start, lapwing_test or a
 * lapwing_wait function, in any of them; it must not call the library. */
typedef void lapwing_function(void* context, const void* left, void* right, uint64_t count);

/* How elements are reduced. With an operator other than LAPWING_USER only `type` and `op` are looked at, so
 * {.type = LAPWING_FLOAT64, .op = LAPWING_SUM} says all. Read by the call and not kept; but what `function`
 * and `context` point to must stay until the operation is complete (the plan is destroyed). */
typedef struct lapwing_reduction {
    lapwing_type type;
    lapwing_operator op;
    /* LAPWING_USER only */
    uint64_t element_bytes; /* of one element; type is not looked at */
    lapwing_function* function;
    void* context;
    int commutes; /* 0: combined in the order of the ranks */
} lapwing_reduction;

/* -------- Starting a collective -------- */

/* All of these start a collective in `group` and give its operation to the caller in *operation; null after
 * an error. Sizes are bytes, those of reductions elements (`count`). P is the size of the group; blocks of
 * rank r stand r * bytes into their buffer unless parts say otherwise. Buffers that a rank does not need are
 * not looked at. Buffers must not overlap.
 *
 * LAPWING_INVALID_ARGUMENT: the arguments. LAPWING_LINK: the group is broken. LAPWING_NO_MEMORY,
 * LAPWING_SYSTEM. A rank whose start fails has not taken part, and the others wait for it: try again, or call
 * lapwing_group_abort. */

lapwing_status lapwing_barrier(lapwing_group* group, lapwing_operation** operation);

/* `buffer` has `bytes` bytes at all ranks: read at the root, written at the others. */
lapwing_status lapwing_broadcast(lapwing_group* group, void* buffer, uint64_t bytes, int root,
                                 lapwing_operation** operation);

/* in: `bytes`; out: P * bytes at the root. */
lapwing_status lapwing_gather(lapwing_group* group, const void* in, uint64_t bytes, void* out, int root,
                              lapwing_operation** operation);
/* in: `bytes`, of any number at each rank; out: at the root, where the P parts say. */
lapwing_status lapwing_gatherv(lapwing_group* group, const void* in, uint64_t bytes, void* out,
                               const lapwing_part* parts, int root, lapwing_operation** operation);

/* in: P * bytes at the root; out: `bytes`. */
lapwing_status lapwing_scatter(lapwing_group* group, const void* in, void* out, uint64_t bytes, int root,
                               lapwing_operation** operation);
/* in: at the root, where the P parts say; out: `bytes`, of any number at each rank. */
lapwing_status lapwing_scatterv(lapwing_group* group, const void* in, const lapwing_part* parts, void* out,
                                uint64_t bytes, int root, lapwing_operation** operation);

/* in: `bytes`; out: P * bytes. */
lapwing_status lapwing_allgather(lapwing_group* group, const void* in, uint64_t bytes, void* out,
                                 lapwing_operation** operation);
/* in: `bytes`, as many as parts[rank] has; out: where the P parts say, whose lengths are the same at all
 * ranks. */
lapwing_status lapwing_allgatherv(lapwing_group* group, const void* in, uint64_t bytes, void* out,
                                  const lapwing_part* parts, lapwing_operation** operation);

/* in: P * bytes, block d for rank d; out: P * bytes, block s from rank s. */
lapwing_status lapwing_alltoall(lapwing_group* group, const void* in, void* out, uint64_t bytes,
                                lapwing_operation** operation);
/* in: where the P sends say; out: where the P receives say. */
lapwing_status lapwing_alltoallv(lapwing_group* group, const void* in, const lapwing_part* sends, void* out,
                                 const lapwing_part* receives, lapwing_operation** operation);

/* in: `count` elements; out: as many, at the root. */
lapwing_status lapwing_reduce(lapwing_group* group, const void* in, void* out, uint64_t count,
                              const lapwing_reduction* reduction, int root, lapwing_operation** operation);
/* in, out: `count` elements. */
lapwing_status lapwing_allreduce(lapwing_group* group, const void* in, void* out, uint64_t count,
                                 const lapwing_reduction* reduction, lapwing_operation** operation);
/* in: P * count elements; out: `count`, block r of the result at rank r. In place: P * count in out, the
 * result at its beginning. */
lapwing_status lapwing_reduce_scatter_block(lapwing_group* group, const void* in, void* out, uint64_t count,
                                            const lapwing_reduction* reduction,
                                            lapwing_operation** operation);
/* in: counts[0] + ... + counts[P-1] elements, block after block; out: counts[rank], of the result. `counts`
 * is the same at all ranks. In place as in lapwing_reduce_scatter_block. */
lapwing_status lapwing_reduce_scatter(lapwing_group* group, const void* in, void* out, const uint64_t* counts,
                                      const lapwing_reduction* reduction, lapwing_operation** operation);
/* in, out: `count` elements; the result at rank r is of ranks 0 to r (exscan: to r-1, and nothing at rank 0).
 */
lapwing_status lapwing_scan(lapwing_group* group, const void* in, void* out, uint64_t count,
                            const lapwing_reduction* reduction, lapwing_operation** operation);
lapwing_status lapwing_exscan(lapwing_group* group, const void* in, void* out, uint64_t count,
                              const lapwing_reduction* reduction, lapwing_operation** operation);

/* Who sends to a rank, and to whom it sends. A rank may be its own neighbour, and the same neighbour several
 * times: then the first block that goes to it meets its first from here, and so on. Read by the call and not
 * kept. */
typedef struct lapwing_neighbors {
    int source_count;
    int destination_count;
    const int* sources;
    const int* destinations;
} lapwing_neighbors;

/* in: `bytes`, to all destinations; out: from source i where receives[i] says. */
lapwing_status lapwing_neighbor_allgather(lapwing_group* group, const lapwing_neighbors* neighbors,
                                          const void* in, uint64_t bytes, void* out,
                                          const lapwing_part* receives, lapwing_operation** operation);
/* in: to destination i what sends[i] says; out: from source i where receives[i] says. */
lapwing_status lapwing_neighbor_alltoall(lapwing_group* group, const lapwing_neighbors* neighbors,
                                         const void* in, const lapwing_part* sends, void* out,
                                         const lapwing_part* receives, lapwing_operation** operation);

/* -------- Plans -------- */

typedef enum lapwing_collective {
    LAPWING_BARRIER = 0,
    LAPWING_BROADCAST = 1,
    LAPWING_GATHER = 2,
    LAPWING_GATHERV = 3,
    LAPWING_SCATTER = 4,
    LAPWING_SCATTERV = 5,
    LAPWING_ALLGATHER = 6,
    LAPWING_ALLGATHERV = 7,
    LAPWING_ALLTOALL = 8,
    LAPWING_ALLTOALLV = 9,
    LAPWING_REDUCE = 10,
    LAPWING_ALLREDUCE = 11,
    LAPWING_REDUCE_SCATTER_BLOCK = 12,
    LAPWING_REDUCE_SCATTER = 13,
    LAPWING_SCAN = 14,
    LAPWING_EXSCAN = 15,
    LAPWING_NEIGHBOR_ALLGATHER = 16,
    LAPWING_NEIGHBOR_ALLTOALL = 17
} lapwing_collective;

/* A collective without its buffers. Fields have the meaning of the arguments of the function of the same
 * name; those that it does not have stay zero. Made by lapwing_problem_of, which fills struct_size in. */
typedef struct lapwing_problem {
    size_t struct_size; /* sizeof(lapwing_problem): later versions may add fields at the end */
    lapwing_collective collective;
    int root;
    uint64_t bytes;
    uint64_t count; /* reductions */
    int in_place;   /* not 0: the data of this rank stands where the result is to stand */
    lapwing_reduction reduction;
    const lapwing_part* sends; /* scatterv (its parts), alltoallv, neighbor_alltoall */
    const lapwing_part*
        receives;           /* gatherv, allgatherv (their parts), alltoallv, the neighbour collectives */
    const uint64_t* counts; /* reduce_scatter */
    lapwing_neighbors neighbors;
} lapwing_problem;

static inline lapwing_problem lapwing_problem_of(lapwing_collective collective) {
    lapwing_problem problem;
    memset(&problem, 0, sizeof problem);
    problem.struct_size = sizeof problem;
    problem.collective = collective;
    return problem;
}

typedef struct lapwing_plan lapwing_plan;

/* Builds the task list of a collective, and makes it ready for its engine, once. Local, and nothing is sent,
 * but connections may begin to be made. The arrays of `problem` need not outlive the call. *plan belongs to
 * the caller, who gives it to lapwing_plan_destroy before the group is destroyed; null after an error. */
lapwing_status lapwing_plan_create(lapwing_group* group, const lapwing_problem* problem, lapwing_plan** plan);
/* Starts the plan's collective on these buffers, as the function of its name does; those that the rank does
 * not need may be null (broadcast: `in` at the root, `out` elsewhere). A plan may be started again while it
 * is in flight. */
lapwing_status lapwing_start(lapwing_plan* plan, const void* in, void* out, lapwing_operation** operation);
/* Frees the plan; a null pointer does nothing. It may still be in flight. */
lapwing_status lapwing_plan_destroy(lapwing_plan* plan);
/* Its algorithm and engine, as "pairwise:window=4 on kernel". Lives as long as the plan. */
const char* lapwing_plan_text(const lapwing_plan* plan);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
