/* LibNBC's functions by MPI's own: Lapwing takes those over, where it is preloaded or linked. */
#include "mpi/nbc/nbc.h"

#include <stdlib.h>

#undef NBC_Test
#undef NBC_Wait

/* The functions are defined as PNBC_; NBC_ is the same unless a tool defines it. */
#define NBC_ALIAS(name) extern __typeof__(PNBC_##name) NBC_##name __attribute__((weak, alias("PNBC_" #name)))

/* Another name for the same. */
#define NBC_SAME(name, as)                                                        \
    extern __typeof__(PNBC_##as) PNBC_##name __attribute__((alias("PNBC_" #as))); \
    NBC_ALIAS(name)

/* A function whose collective `call` starts. */
#define NBC_STARTS(name, parameters, call) \
    int PNBC_##name parameters {           \
        begin(handle);                     \
        return call;                       \
    }                                      \
    NBC_ALIAS(name)

/* To LibNBC equal buffers mean in place, too. Without a buffer there is nothing to be in place. */
static inline int in_place(const void* sent, const void* received) {
    return sent == MPI_IN_PLACE || (sent == received && sent != NULL);
}

/* The request must say null before the call, because an error may leave it as it was. */
static inline void begin(NBC_Handle* handle) {
    handle->request = MPI_REQUEST_NULL;
    handle->copy = NULL;
}

/* What the handle keeps until its collective is complete. */
static inline void end(NBC_Handle* handle) {
    free(handle->copy);
    handle->copy = NULL;
}

/* The end of a call that may have made such a copy. */
static inline int begun(NBC_Handle* handle, int error) {
    if (error != MPI_SUCCESS) end(handle);
    return error;
}

static int is_root(int root, MPI_Comm comm) {
    int rank = 0;
    MPI_Comm_rank(comm, &rank);
    return rank == root;
}

static const void* sent_from(const void* sent, const void* received) {
    return in_place(sent, received) ? MPI_IN_PLACE : sent;
}

NBC_STARTS(Ibarrier, (MPI_Comm comm, NBC_Handle* handle), MPI_Ibarrier(comm, &handle->request));

NBC_STARTS(Ibcast, (void* buffer, int count, MPI_Datatype type, int root, MPI_Comm comm, NBC_Handle* handle),
           MPI_Ibcast(buffer, count, type, root, comm, &handle->request));

NBC_SAME(Ibcast_inter, Ibcast);

NBC_STARTS(Igather,
           (const void* sent, int send_count, MPI_Datatype send_type, void* received, int receive_count,
            MPI_Datatype receive_type, int root, MPI_Comm comm, NBC_Handle* handle),
           MPI_Igather(is_root(root, comm) ? sent_from(sent, received) : sent, send_count, send_type,
                       received, receive_count, receive_type, root, comm, &handle->request));

NBC_STARTS(Igatherv,
           (const void* sent, int send_count, MPI_Datatype send_type, void* received,
            const int* receive_counts, const int* displacements, MPI_Datatype receive_type, int root,
            MPI_Comm comm, NBC_Handle* handle),
           MPI_Igatherv(is_root(root, comm) ? sent_from(sent, received) : sent, send_count, send_type,
                        received, receive_counts, displacements, receive_type, root, comm, &handle->request));

NBC_STARTS(Iscatter,
           (const void* sent, int send_count, MPI_Datatype send_type, void* received, int receive_count,
            MPI_Datatype receive_type, int root, MPI_Comm comm, NBC_Handle* handle),
           MPI_Iscatter(sent, send_count, send_type,
                        is_root(root, comm) && in_place(received, sent) ? MPI_IN_PLACE : received,
                        receive_count, receive_type, root, comm, &handle->request));

NBC_STARTS(Iscatterv,
           (const void* sent, const int* send_counts, const int* displacements, MPI_Datatype send_type,
            void* received, int receive_count, MPI_Datatype receive_type, int root, MPI_Comm comm,
            NBC_Handle* handle),
           MPI_Iscatterv(sent, send_counts, displacements, send_type,
                         is_root(root, comm) && in_place(received, sent) ? MPI_IN_PLACE : received,
                         receive_count, receive_type, root, comm, &handle->request));

NBC_STARTS(Iallgather,
           (const void* sent, int send_count, MPI_Datatype send_type, void* received, int receive_count,
            MPI_Datatype receive_type, MPI_Comm comm, NBC_Handle* handle),
           MPI_Iallgather(sent_from(sent, received), send_count, send_type, received, receive_count,
                          receive_type, comm, &handle->request));

NBC_STARTS(Iallgatherv,
           (const void* sent, int send_count, MPI_Datatype send_type, void* received,
            const int* receive_counts, const int* displacements, MPI_Datatype receive_type, MPI_Comm comm,
            NBC_Handle* handle),
           MPI_Iallgatherv(sent_from(sent, received), send_count, send_type, received, receive_counts,
                           displacements, receive_type, comm, &handle->request));

NBC_STARTS(Ialltoall,
           (const void* sent, int send_count, MPI_Datatype send_type, void* received, int receive_count,
            MPI_Datatype receive_type, MPI_Comm comm, NBC_Handle* handle),
           MPI_Ialltoall(sent_from(sent, received), send_count, send_type, received, receive_count,
                         receive_type, comm, &handle->request));

NBC_STARTS(Ialltoallv,
           (const void* sent, const int* send_counts, const int* send_displacements, MPI_Datatype send_type,
            void* received, const int* receive_counts, const int* receive_displacements,
            MPI_Datatype receive_type, MPI_Comm comm, NBC_Handle* handle),
           MPI_Ialltoallv(sent_from(sent, received), send_counts, send_displacements, send_type, received,
                          receive_counts, receive_displacements, receive_type, comm, &handle->request));

int PNBC_Ireduce(const void* sent, void* received, int count, MPI_Datatype type, MPI_Op op, int root,
                 MPI_Comm comm, NBC_Handle* handle) {
    begin(handle);
    if (is_root(root, comm)) {
        sent = sent_from(sent, received);
    } else if (sent == MPI_IN_PLACE) {
        sent = received;
    }
    return MPI_Ireduce(sent, received, count, type, op, root, comm, &handle->request);
}
NBC_ALIAS(Ireduce);

NBC_STARTS(Iallreduce,
           (const void* sent, void* received, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm,
            NBC_Handle* handle),
           MPI_Iallreduce(sent_from(sent, received), received, count, type, op, comm, &handle->request));

NBC_STARTS(Ireduce_scatter,
           (const void* sent, void* received, const int* receive_counts, MPI_Datatype type, MPI_Op op,
            MPI_Comm comm, NBC_Handle* handle),
           MPI_Ireduce_scatter(sent_from(sent, received), received, receive_counts, type, op, comm,
                               &handle->request));

NBC_STARTS(Iscan,
           (const void* sent, void* received, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm,
            NBC_Handle* handle),
           MPI_Iscan(sent_from(sent, received), received, count, type, op, comm, &handle->request));

int PNBC_Testold(NBC_Handle* handle) {
    int complete = 0;
    const int error = MPI_Test(&handle->request, &complete, MPI_STATUS_IGNORE);
    if (error == MPI_SUCCESS && !complete) return NBC_CONTINUE;
    end(handle);
    return error;
}
NBC_ALIAS(Testold);

int PNBC_Test(NBC_Handle* handle, int* flag, MPI_Status* status) {
    (void)status;
    const int result = PNBC_Testold(handle);
    *flag = result;
    return result == NBC_CONTINUE ? NBC_OK : result;
}
NBC_ALIAS(Test);

int PNBC_Wait(NBC_Handle* handle, MPI_Status* status) {
    (void)status;
    const int error = MPI_Wait(&handle->request, MPI_STATUS_IGNORE);
    end(handle);
    return error;
}
NBC_ALIAS(Wait);

/* Neighbors. */
int PNBC_Comm_neighbors_count(MPI_Comm comm, int* indegree, int* outdegree, int* weighted) {
    int topology = MPI_UNDEFINED;
    int rank = 0;
    int error = MPI_Topo_test(comm, &topology);
    if (error != MPI_SUCCESS) return error;
    *weighted = 0;
    switch (topology) {
        case MPI_CART:
            error = MPI_Cartdim_get(comm, indegree);
            *indegree *= 2;
            *outdegree = *indegree;
            return error;
        case MPI_GRAPH:
            MPI_Comm_rank(comm, &rank);
            error = MPI_Graph_neighbors_count(comm, rank, indegree);
            *outdegree = *indegree;
            return error;
        case MPI_DIST_GRAPH:
            return MPI_Dist_graph_neighbors_count(comm, indegree, outdegree, weighted);
        default:
            return NBC_INVALID_TOPOLOGY_COMM;
    }
}

int PNBC_Comm_neighbors(MPI_Comm comm, int max_sources, int* sources, int* source_weights,
                        int max_destinations, int* destinations, int* destination_weights) {
    int topology = MPI_UNDEFINED;
    int rank = 0;
    int indegree = 0;
    int outdegree = 0;
    int weighted = 0;
    int error = PNBC_Comm_neighbors_count(comm, &indegree, &outdegree, &weighted);
    if (error != MPI_SUCCESS) return error;
    if (indegree > max_sources || outdegree > max_destinations) return NBC_INVALID_PARAM;
    MPI_Topo_test(comm, &topology);
    switch (topology) {
        case MPI_CART:
            for (int i = 0; i < indegree && error == MPI_SUCCESS; i += 2) {
                error = MPI_Cart_shift(comm, i / 2, 1, &sources[i], &sources[i + 1]);
            }
            break;
        case MPI_GRAPH:
            MPI_Comm_rank(comm, &rank);
            error = MPI_Graph_neighbors(comm, rank, indegree, sources);
            break;
        default:
            return MPI_Dist_graph_neighbors(comm, indegree, sources, source_weights, outdegree, destinations,
                                            destination_weights);
    }
    for (int i = 0; i < outdegree; ++i) destinations[i] = sources[i];
    return error;
}

/* Packs `blocks` times `count` elements behind `room` bytes of the handle's own. `bytes` becomes the length
 * of one packed block. */
static int pack(const void* elements, int blocks, int count, MPI_Datatype type, size_t room, MPI_Comm comm,
                NBC_Handle* handle, int* bytes) {
    int position = 0;
    int most = 0;
    int error = MPI_Pack_size(blocks * count, type, comm, &most);
    if (error != MPI_SUCCESS) return error;
    handle->copy = calloc(1, room + (size_t)most + 1);
    if (handle->copy == NULL) return NBC_OOR;
    error = MPI_Pack(elements, blocks * count, type, (char*)handle->copy + room, most, &position, comm);
    *bytes = blocks > 0 ? position / blocks : 0;
    return error;
}

int PNBC_Ineighbor_alltoall(const void* sent, int send_count, MPI_Datatype send_type, void* received,
                            int receive_count, MPI_Datatype receive_type, MPI_Comm comm, NBC_Handle* handle) {
    begin(handle);
    if (in_place(sent, received)) {
        int indegree = 0;
        int outdegree = 0;
        int weighted = 0;
        int error = PNBC_Comm_neighbors_count(comm, &indegree, &outdegree, &weighted);
        if (error != MPI_SUCCESS) return error;
        error = pack(received, outdegree, receive_count, receive_type, 0, comm, handle, &send_count);
        if (error != MPI_SUCCESS) return begun(handle, error);
        sent = handle->copy;
        send_type = MPI_PACKED;
    }
    return begun(handle, MPI_Ineighbor_alltoall(sent, send_count, send_type, received, receive_count,
                                                receive_type, comm, &handle->request));
}
NBC_ALIAS(Ineighbor_alltoall);

NBC_SAME(Ineighbor_xchg, Ineighbor_alltoall);

NBC_STARTS(Ineighbor_alltoallv,
           (const void* sent, const int* send_counts, const int* send_displacements, MPI_Datatype send_type,
            void* received, const int* receive_counts, const int* receive_displacements,
            MPI_Datatype receive_type, MPI_Comm comm, NBC_Handle* handle),
           in_place(sent, received)
               ? NBC_NOT_IMPLEMENTED
               : MPI_Ineighbor_alltoallv(sent, send_counts, send_displacements, send_type, received,
                                         receive_counts, receive_displacements, receive_type, comm,
                                         &handle->request));

NBC_SAME(Ineighbor_xchgv, Ineighbor_alltoallv);

/* Where the blocks stand that follow one another. */
static int side_by_side(int blocks, const int* counts, const MPI_Datatype* types, MPI_Aint* displacements) {
    MPI_Aint next = 0;
    for (int i = 0; i < blocks; ++i) {
        MPI_Aint lower = 0;
        MPI_Aint extent = 0;
        const int error = MPI_Type_get_extent(types[i], &lower, &extent);
        if (error != MPI_SUCCESS) return error;
        displacements[i] = next;
        next += counts[i] * extent;
    }
    return MPI_SUCCESS;
}

int PNBC_Ineighbor_alltoallw(const void* sent, const int* send_counts, const MPI_Datatype* send_types,
                             void* received, const int* receive_counts, const MPI_Datatype* receive_types,
                             MPI_Comm comm, NBC_Handle* handle) {
    int indegree = 0;
    int outdegree = 0;
    int weighted = 0;
    begin(handle);
    if (in_place(sent, received)) return NBC_NOT_IMPLEMENTED;
    int error = PNBC_Comm_neighbors_count(comm, &indegree, &outdegree, &weighted);
    if (error != MPI_SUCCESS) return error;
    MPI_Aint* displacements = calloc((size_t)indegree + (size_t)outdegree + 1, sizeof *displacements);
    if (displacements == NULL) return NBC_OOR;
    error = side_by_side(outdegree, send_counts, send_types, displacements);
    if (error == MPI_SUCCESS) {
        error = side_by_side(indegree, receive_counts, receive_types, displacements + outdegree);
    }
    if (error == MPI_SUCCESS) {
        error =
            MPI_Ineighbor_alltoallw(sent, send_counts, displacements, send_types, received, receive_counts,
                                    displacements + outdegree, receive_types, comm, &handle->request);
    }
    /* A call that is left to the MPI may look at the array later. */
    handle->copy = displacements;
    return begun(handle, error);
}
NBC_ALIAS(Ineighbor_alltoallw);

NBC_STARTS(Ineighbor_allgather,
           (const void* sent, int send_count, MPI_Datatype send_type, void* received, int receive_count,
            MPI_Datatype receive_type, MPI_Comm comm, NBC_Handle* handle),
           in_place(sent, received)
               ? NBC_NOT_IMPLEMENTED
               : MPI_Ineighbor_allgather(sent, send_count, send_type, received, receive_count, receive_type,
                                         comm, &handle->request));

NBC_STARTS(Ineighbor_allgatherv,
           (const void* sent, int send_count, MPI_Datatype send_type, void* received,
            const int* receive_counts, const int* displacements, MPI_Datatype receive_type, MPI_Comm comm,
            NBC_Handle* handle),
           in_place(sent, received)
               ? NBC_NOT_IMPLEMENTED
               : MPI_Ineighbor_allgatherv(sent, send_count, send_type, received, receive_counts,
                                          displacements, receive_type, comm, &handle->request));

/* MPI has no such collective: it is an alltoallv in which every rank sends one block at most. */
int PNBC_Icart_shift_xchg(const void* sent, int send_count, MPI_Datatype send_type, void* received,
                          int receive_count, MPI_Datatype receive_type, int dimension, int displacement,
                          MPI_Comm comm, NBC_Handle* handle) {
    int ranks = 0;
    int source = MPI_PROC_NULL;
    int destination = MPI_PROC_NULL;
    begin(handle);
    int error = MPI_Cart_shift(comm, dimension, displacement, &source, &destination);
    if (error != MPI_SUCCESS) return error;
    MPI_Comm_size(comm, &ranks);
    /* What is sent, what is received, displacements: all in the handle until it is complete. */
    const size_t room = 3 * (size_t)ranks * sizeof(int);
    if (in_place(sent, received)) {
        error = pack(received, 1, receive_count, receive_type, room, comm, handle, &send_count);
        if (error != MPI_SUCCESS) return begun(handle, error);
        sent = (char*)handle->copy + room;
        send_type = MPI_PACKED;
    } else {
        handle->copy = calloc(1, room);
        if (handle->copy == NULL) return NBC_OOR;
    }
    int* const send_counts = handle->copy;
    int* const receive_counts = send_counts + ranks;
    int* const displacements = receive_counts + ranks;
    if (destination != MPI_PROC_NULL) send_counts[destination] = send_count;
    if (source != MPI_PROC_NULL) receive_counts[source] = receive_count;
    return begun(handle, MPI_Ialltoallv(sent, send_counts, displacements, send_type, received, receive_counts,
                                        displacements, receive_type, comm, &handle->request));
}
NBC_ALIAS(Icart_shift_xchg);
