/* SPDX-FileCopyrightText: 2026 The Lapwing authors
 * SPDX-License-Identifier: BSD-3-Clause */

/* Lapwing's collectives for programs and libraries without MPI, and for MPI libraries. Lapwing compiles a
 * collective into a task list, and an engine runs the list while the program computes.
 *
 * lapwing_group_create makes processes the ranks of a group. The caller provides an exchange function.
 * lapwing_allreduce and its like start a collective and return an operation at once.
 * lapwing_wait waits for an operation.
 * lapwing_plan_create prepares a collective that is started many times.
 *
 * Order. All ranks of a group must start the same collectives in the same order, with matching arguments, as
 * in MPI. A start does not wait for other ranks.
 *
 * Threads. Any thread may call any function at any time. Calls for one group are serialized. Two threads
 * must not use one operation at the same time. If several threads start collectives in one group, they must
 * agree on the order that the other ranks use.
 *
 * Progress. The engines kernel, triggered and mlx5 run lists while the program computes; so does the host
 * engine with a progress thread (option progress_thread). Without one, lists of the host engine progress only
 * while a thread of the program is in lapwing_test or in one of the lapwing_wait functions, and so do the
 * copies and reductions of the other engines. These functions advance all operations of all groups of the
 * process.
 *
 * Errors. Functions that can fail return a lapwing_status. lapwing_message() returns the text of the calling
 * thread's last error. The library prints nothing, raises no signal and ends no process. When a rank ends,
 * or the network does not reach it for `timeout` seconds, all operations in flight complete with
 * LAPWING_LINK at all ranks, and the group can only be destroyed. A process that exits without
 * lapwing_group_destroy counts as a rank that ended.
 *
 * fork. A child must not use the groups of its parent. It may create groups of its own. */
#ifndef LAPWING_H
#define LAPWING_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/* The version of this header; lapwing_version() returns the library's. */
#define LAPWING_VERSION "0.3.1-dev"

typedef enum lapwing_status {
    LAPWING_SUCCESS = 0,
    LAPWING_INVALID_ARGUMENT = 1, /* of the call, or in an option or a variable */
    LAPWING_UNSUPPORTED = 2,      /* valid, but no engine of the group can do it */
    LAPWING_LINK = 3,             /* a rank ended, aborted or is unreachable: the group is broken */
    LAPWING_SYSTEM = 4,           /* the system refused descriptors, threads or addresses */
    LAPWING_NO_MEMORY = 5,
    LAPWING_EXCHANGE = 6, /* the exchange function failed, or returned wrong blocks */
    LAPWING_INTERNAL = 7  /* an error in Lapwing itself */
} lapwing_status;

/* Returns the version of the library, such as "0.3.1-dev". Static memory. */
const char* lapwing_version(void);
/* Returns the message of the last function that failed in this thread, in one line; "" if none failed. The
 * message does not change until the next failure in this thread. */
const char* lapwing_message(void);
/* Returns the name of a status, such as "LAPWING_LINK"; "unknown" for any other value. Static memory. */
const char* lapwing_status_name(lapwing_status status);

/* -------- Groups -------- */

typedef struct lapwing_group lapwing_group;

/* An allgather that the caller provides: by a launcher, a file, pipes to a parent, or an MPI. It must send
 * this rank's `block` of `bytes` bytes to all ranks, fill `blocks` with the blocks of all ranks in rank
 * order, and return 0. It must not return before all blocks have arrived. If it returns another value,
 * lapwing_group_create fails with LAPWING_EXCHANGE. `bytes` is equal at all ranks, about a kilobyte. The
 * library owns the memory, which is valid during the call.
 *
 * lapwing_group_create calls the function once at every rank, in the calling thread. All ranks must receive
 * the same blocks. The blocks contain the group's key: a process that can read them can join the group. So a
 * file should have mode 0600. */
typedef int lapwing_exchange(void* context, const void* block, void* blocks, size_t bytes);

/* Creates a group of `size` ranks; `rank` is the caller's. Collective: all ranks must call it. It returns
 * when this rank has connected with the group, or failed. `exchange` is not called in a group of one, and
 * may be null there. `options` is null, or an array of strings "name=value" that ends with a null pointer.
 * The names are those of the variables LAPWING_* in lower case, such as "engine=kernel" or
 * "tcp_interface=eth0". Options override variables; lapwing(3) lists them. Strings and context need not
 * outlive the call.
 *
 * *group is null after an error. Otherwise the caller owns it and must pass it to lapwing_group_destroy. A
 * group has an event thread, which sleeps except when connections are made, and a listening socket.
 *
 * Errors: LAPWING_INVALID_ARGUMENT if an argument, option or variable is wrong, or differs between ranks;
 * LAPWING_EXCHANGE; LAPWING_SYSTEM; LAPWING_LINK. If a rank fails before the exchange, all ranks fail with
 * its reason. */
lapwing_status lapwing_group_create(int rank, int size, lapwing_exchange* exchange, void* context,
                                    const char* const* options, lapwing_group** group);

/* Frees the group; does nothing if the pointer is null. No thread may use the group. Collective if UCX,
 * libfabric, or TCP with a progress thread joins the ranks: waits until all ranks destroy the group, or one
 * has ended. Local otherwise. Returns LAPWING_INVALID_ARGUMENT, and frees nothing, if an operation is not
 * complete or a plan is not destroyed. */
lapwing_status lapwing_group_destroy(lapwing_group* group);

/* Breaks the group: all operations in flight complete with LAPWING_LINK at all ranks, with `why` in their
 * message unless it is null. A rank that cannot continue must call this, because the other ranks would wait
 * for it. May be called while other threads wait. */
lapwing_status lapwing_group_abort(lapwing_group* group, const char* why);

int lapwing_group_rank(const lapwing_group* group);
int lapwing_group_size(const lapwing_group* group);
/* Returns the engine that runs the group's lists: "kernel", "host", "triggered" or "mlx5". Static memory. */
const char* lapwing_group_engine(const lapwing_group* group);
/* Returns why the group does not use the engine that it was to use (that of the option; with `auto` the
 * kernel engine): "rank 3 (node2): ...". Returns "" if it uses that engine, or if `auto` found another one
 * faster. Valid as long as the group. */
const char* lapwing_group_note(const lapwing_group* group);
/* Returns how ranks of one host exchange messages: "shared memory; ...", or "no shared memory: rank 3
 * (node2): ..." with the reason; then they use the network, as ranks of different hosts do. "" if each host
 * has one rank. Equal at all ranks. For people, not for programs. Valid as long as the group. */
const char* lapwing_group_inside_host(const lapwing_group* group);
/* Returns the network between the ranks: "ucx (UCX 1.13.1, tcp on eth0)", "tcp (the kernel engine, eth0)".
 * Returns "" if messages use the TCP connections that the ranks made when they created the group, or if all
 * ranks share the memory of one host. Equal at all ranks.
 * Valid as long as the group. */
const char* lapwing_group_network(const lapwing_group* group);

/* Sets a function for lines that are not errors of a group, such as a connection that was rejected at its
 * port. The default, null, discards the lines. A thread of the library calls the function, for all groups of
 * the process. The function must not call the library. When lapwing_set_log returns, the former function is
 * no longer running. */
typedef void lapwing_log(void* context, const char* line);
void lapwing_set_log(lapwing_log* log, void* context);

/* -------- Operations -------- */

/* A collective that was started. The caller owns it and must wait for it, or test it until it is complete.
 * Until then the buffers must stay in place: receive buffers must not be read or written, send buffers must
 * not be written. Buffers must be host memory; the caller copies the memory of a device. */
typedef struct lapwing_operation lapwing_operation;

/* Sets *complete to whether *operation is complete. Does not wait. A complete operation, also one with an
 * error, is freed, *operation becomes null, and the caller may use the buffers again. A null *operation is
 * complete. */
lapwing_status lapwing_test(lapwing_operation** operation, int* complete);
/* Waits until *operation is complete, frees it and sets it to null, also after an error. The thread sleeps
 * while no message arrives. */
lapwing_status lapwing_wait(lapwing_operation** operation);
/* Waits for all operations of an array, of any groups; some may be null. Status and message are those of the
 * first operation in the array that failed. */
lapwing_status lapwing_wait_all(size_t count, lapwing_operation** operations);

/* -------- Data and reductions -------- */

/* As `in` (as `out` in scatter and scatterv): the data is in the buffer of the result, as in MPI. Only the
 * root may pass it in gather, gatherv, scatter, scatterv and reduce. Invalid in alltoall, alltoallv and the
 * neighbour collectives. */
#define LAPWING_IN_PLACE ((void*)-1)

/* The place of a block in a buffer, for blocks of different lengths. A collective copies the arrays of parts
 * that it is given, so they may be freed when it returns. */
typedef struct lapwing_part {
    uint64_t offset; /* bytes, from the start of the buffer */
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
    LAPWING_FLOAT32 = 8,   /* float */
    LAPWING_FLOAT64 = 9,   /* double */
    LAPWING_FLOAT16 = 10,  /* IEEE 754 binary16: _Float16 */
    LAPWING_BFLOAT16 = 11, /* the upper half of a float */
    LAPWING_LONG_DOUBLE = 12,
    LAPWING_COMPLEX64 = 13,           /* float _Complex; complex numbers: sums and products only */
    LAPWING_COMPLEX128 = 14,          /* double _Complex */
    LAPWING_COMPLEX_LONG_DOUBLE = 15, /* long double _Complex */
    /* A value and an index, without padding: LAPWING_MINIMUM_LOCATION and LAPWING_MAXIMUM_LOCATION only. */
    LAPWING_INT16_INT32 = 16,
    LAPWING_INT32_INT32 = 17,
    LAPWING_INT64_INT32 = 18,
    LAPWING_FLOAT32_INT32 = 19,
    LAPWING_FLOAT64_INT32 = 20,
    LAPWING_LONG_DOUBLE_INT32 = 21,
    LAPWING_FLOAT32_FLOAT32 = 22,
    LAPWING_FLOAT64_FLOAT64 = 23
} lapwing_type;

typedef enum lapwing_operator {
    LAPWING_SUM = 0, /* sums and products of integers wrap around */
    LAPWING_PRODUCT = 1,
    LAPWING_MINIMUM = 2, /* minimum and maximum: integers and real numbers */
    LAPWING_MAXIMUM = 3,
    LAPWING_BIT_AND = 4, /* bitwise and logical operators: integers only */
    LAPWING_BIT_OR = 5,
    LAPWING_BIT_XOR = 6,
    LAPWING_LOGICAL_AND = 7,
    LAPWING_LOGICAL_OR = 8,
    LAPWING_LOGICAL_XOR = 9,
    LAPWING_MINIMUM_LOCATION = 10, /* pairs: of equal values, the lower index */
    LAPWING_MAXIMUM_LOCATION = 11,
    LAPWING_USER = 100 /* the caller's own function */
} lapwing_operator;

/* Must set right[i] = left[i] op right[i] for `count` elements; left comes from lower ranks than right,
 * unless `commutes` is set. `op` must be associative. Elements may have any alignment. Called by any thread
 * of the caller that is in a start, in lapwing_test or in a lapwing_wait function. Must not call the library.
 */
typedef void lapwing_function(void* context, const void* left, void* right, uint64_t count);

/* How elements are reduced. Unless `op` is LAPWING_USER, only `type` and `op` are read: {.type =
 * LAPWING_FLOAT64, .op = LAPWING_SUM}. The call copies the structure. `function` and `context` must stay
 * valid until the operation is complete, or the plan is destroyed. */
typedef struct lapwing_reduction {
    lapwing_type type;
    lapwing_operator op;
    /* LAPWING_USER only */
    uint64_t element_bytes; /* of one element; type is ignored */
    lapwing_function* function;
    void* context;
    int commutes; /* 0: combined in the order of the ranks */
} lapwing_reduction;

/* -------- Starting a collective -------- */

/* Each of these functions starts a collective in `group` and stores its operation, which the caller owns, in
 * *operation; null after an error. Sizes are bytes; those of reductions (`count`) are elements. P is the
 * size of the group. The block of rank r begins at r * bytes in its buffer, unless parts give another
 * offset. Buffers that a rank does not need are ignored. Buffers must not overlap.
 *
 * Errors: LAPWING_INVALID_ARGUMENT if an argument is wrong; LAPWING_LINK if the group is broken;
 * LAPWING_NO_MEMORY; LAPWING_SYSTEM. A rank whose start fails has not taken part, and the other ranks wait
 * for it: it must start again, or call lapwing_group_abort. */

lapwing_status lapwing_barrier(lapwing_group* group, lapwing_operation** operation);

/* `buffer` has `bytes` bytes at all ranks: read at the root, written at the others. */
lapwing_status lapwing_broadcast(lapwing_group* group, void* buffer, uint64_t bytes, int root,
                                 lapwing_operation** operation);

/* in: `bytes`; out: P * bytes at the root. */
lapwing_status lapwing_gather(lapwing_group* group, const void* in, uint64_t bytes, void* out, int root,
                              lapwing_operation** operation);
/* in: `bytes`, which may differ between ranks; out: at the root, the block of rank r at parts[r]. */
lapwing_status lapwing_gatherv(lapwing_group* group, const void* in, uint64_t bytes, void* out,
                               const lapwing_part* parts, int root, lapwing_operation** operation);

/* in: P * bytes at the root; out: `bytes`. */
lapwing_status lapwing_scatter(lapwing_group* group, const void* in, void* out, uint64_t bytes, int root,
                               lapwing_operation** operation);
/* in: at the root, the block for rank r at parts[r]; out: `bytes`, which may differ between ranks. */
lapwing_status lapwing_scatterv(lapwing_group* group, const void* in, const lapwing_part* parts, void* out,
                                uint64_t bytes, int root, lapwing_operation** operation);

/* in: `bytes`; out: P * bytes. */
lapwing_status lapwing_allgather(lapwing_group* group, const void* in, uint64_t bytes, void* out,
                                 lapwing_operation** operation);
/* in: `bytes`, equal to parts[rank].bytes; out: the block of rank r at parts[r]. Lengths of parts must be
 * equal at all ranks. */
lapwing_status lapwing_allgatherv(lapwing_group* group, const void* in, uint64_t bytes, void* out,
                                  const lapwing_part* parts, lapwing_operation** operation);

/* in: P * bytes, block d for rank d; out: P * bytes, block s from rank s. */
lapwing_status lapwing_alltoall(lapwing_group* group, const void* in, void* out, uint64_t bytes,
                                lapwing_operation** operation);
/* in: block d at sends[d]; out: block s at receives[s]. */
lapwing_status lapwing_alltoallv(lapwing_group* group, const void* in, const lapwing_part* sends, void* out,
                                 const lapwing_part* receives, lapwing_operation** operation);

/* in: `count` elements; out, at the root: `count` elements. */
lapwing_status lapwing_reduce(lapwing_group* group, const void* in, void* out, uint64_t count,
                              const lapwing_reduction* reduction, int root, lapwing_operation** operation);
/* in, out: `count` elements. */
lapwing_status lapwing_allreduce(lapwing_group* group, const void* in, void* out, uint64_t count,
                                 const lapwing_reduction* reduction, lapwing_operation** operation);
/* in: P * count elements; out: `count` elements, block r of the result at rank r. In place: `out` has P *
 * count elements, and the result is at its beginning. */
lapwing_status lapwing_reduce_scatter_block(lapwing_group* group, const void* in, void* out, uint64_t count,
                                            const lapwing_reduction* reduction,
                                            lapwing_operation** operation);
/* in: counts[0] + ... + counts[P-1] elements, block after block; out: counts[rank] elements of the result.
 * `counts` must be equal at all ranks. In place as in lapwing_reduce_scatter_block. */
lapwing_status lapwing_reduce_scatter(lapwing_group* group, const void* in, void* out, const uint64_t* counts,
                                      const lapwing_reduction* reduction, lapwing_operation** operation);
/* in, out: `count` elements. The result at rank r combines ranks 0 to r; exscan: ranks 0 to r-1, and no
 * result at rank 0. */
lapwing_status lapwing_scan(lapwing_group* group, const void* in, void* out, uint64_t count,
                            const lapwing_reduction* reduction, lapwing_operation** operation);
lapwing_status lapwing_exscan(lapwing_group* group, const void* in, void* out, uint64_t count,
                              const lapwing_reduction* reduction, lapwing_operation** operation);

/* The ranks that send to this rank, and the ranks that it sends to. A rank may be its own neighbour, and may
 * occur several times: then the first block to it is the first block that it receives from here, and so on.
 * The call copies the arrays. */
typedef struct lapwing_neighbors {
    int source_count;
    int destination_count;
    const int* sources;
    const int* destinations;
} lapwing_neighbors;

/* in: `bytes`, to all destinations; out: the block of source i at receives[i]. */
lapwing_status lapwing_neighbor_allgather(lapwing_group* group, const lapwing_neighbors* neighbors,
                                          const void* in, uint64_t bytes, void* out,
                                          const lapwing_part* receives, lapwing_operation** operation);
/* in: the block for destination i at sends[i]; out: the block of source i at receives[i]. */
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

/* A collective without its buffers. Fields have the meaning of the arguments of the collective's function;
 * fields that the collective does not have must be zero. lapwing_problem_of() sets struct_size. */
typedef struct lapwing_problem {
    size_t struct_size; /* sizeof(lapwing_problem): later versions may add fields at the end */
    lapwing_collective collective;
    int root;
    uint64_t bytes;
    uint64_t count; /* reductions */
    int in_place;   /* not 0: as with LAPWING_IN_PLACE */
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

/* Builds the task list of a collective and prepares it for its engine, once. Local: sends no message, but
 * may begin to connect. The arrays of `problem` need not outlive the call. *plan is null after an error.
 * Otherwise the caller owns it, and must pass it to lapwing_plan_destroy before the group is destroyed. */
lapwing_status lapwing_plan_create(lapwing_group* group, const lapwing_problem* problem, lapwing_plan** plan);
/* Starts the plan's collective on these buffers, as the collective's function does. Buffers that the rank
 * does not need may be null; a broadcast has `in` at the root and `out` elsewhere. A plan may be started
 * again while it is in flight. */
lapwing_status lapwing_start(lapwing_plan* plan, const void* in, void* out, lapwing_operation** operation);
/* Frees the plan; does nothing if the pointer is null. The plan may be in flight. */
lapwing_status lapwing_plan_destroy(lapwing_plan* plan);
/* Returns the plan's algorithm and engine, as "pairwise:window=4 on kernel". Valid as long as the plan. */
const char* lapwing_plan_text(const lapwing_plan* plan);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
