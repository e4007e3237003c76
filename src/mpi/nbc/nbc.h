/* SPDX-FileCopyrightText: 2026 The Lapwing authors
 * SPDX-License-Identifier: BSD-3-Clause */

/* LibNBC's interface: a program that was written for LibNBC compiles with this header and is linked to
 * libnbc-lapwing-openmpi or libnbc-lapwing-mpich. Each function is the nonblocking collective of MPI of the
 * same name (see docs/compatibility.md, "LibNBC").
 *
 * Counts and displacements are in elements of the types, as in MPI. Buffers belong to the caller and must
 * not be touched before the handle is complete; arrays of counts, displacements and types are copied at the
 * call, as by LibNBC, where Lapwing takes it. Every function returns NBC_OK, one of the codes below, or an
 * error code of MPI. */
#ifndef LAPWING_NBC_H
#define LAPWING_NBC_H

#include <mpi.h>

#ifdef __cplusplus
extern "C" {
#endif

#define NBC_OK 0
#define NBC_SUCCESS 0
#define NBC_OOR 1 /* out of resources */
#define NBC_BAD_SCHED 2
#define NBC_CONTINUE 3 /* not complete yet */
#define NBC_DATATYPE_NOT_SUPPORTED 4
#define NBC_OP_NOT_SUPPORTED 5
#define NBC_NOT_IMPLEMENTED 6
#define NBC_INVALID_PARAM 7
#define NBC_INVALID_TOPOLOGY_COMM 8 /* the communicator has no topology */

/* One collective in flight; made by the call that starts it, and of no more use when it is complete. It may
 * be copied, but only one of the copies completed. */
typedef struct {
    MPI_Request request;
    void* copy; /* of what is sent, where it is overwritten */
} NBC_Handle;
typedef NBC_Handle NBC_Request;

/* Each exists as PNBC_ as well, so that a tool can stand in front of it, but for the Comm_ functions. */
#define NBC_DECLARE(name, parameters) \
    int NBC_##name parameters;        \
    int PNBC_##name parameters

/* The send buffer may be MPI_IN_PLACE, or the same as the receive buffer, which means the same; at the root
 * of Iscatter the receive buffer. Neighbours: MPI_IN_PLACE in Ineighbor_alltoall, Ineighbor_xchg and
 * Icart_shift_xchg only; elsewhere NBC_NOT_IMPLEMENTED. */
NBC_DECLARE(Ibarrier, (MPI_Comm comm, NBC_Handle* handle));
NBC_DECLARE(Ibcast,
            (void* buffer, int count, MPI_Datatype type, int root, MPI_Comm comm, NBC_Handle* handle));
/* On an intercommunicator, with MPI_ROOT and MPI_PROC_NULL as in MPI_Ibcast. */
NBC_DECLARE(Ibcast_inter,
            (void* buffer, int count, MPI_Datatype type, int root, MPI_Comm comm, NBC_Handle* handle));
NBC_DECLARE(Igather,
            (const void* sent, int send_count, MPI_Datatype send_type, void* received, int receive_count,
             MPI_Datatype receive_type, int root, MPI_Comm comm, NBC_Handle* handle));
NBC_DECLARE(Igatherv, (const void* sent, int send_count, MPI_Datatype send_type, void* received,
                       const int* receive_counts, const int* displacements, MPI_Datatype receive_type,
                       int root, MPI_Comm comm, NBC_Handle* handle));
NBC_DECLARE(Iscatter,
            (const void* sent, int send_count, MPI_Datatype send_type, void* received, int receive_count,
             MPI_Datatype receive_type, int root, MPI_Comm comm, NBC_Handle* handle));
NBC_DECLARE(Iscatterv, (const void* sent, const int* send_counts, const int* displacements,
                        MPI_Datatype send_type, void* received, int receive_count, MPI_Datatype receive_type,
                        int root, MPI_Comm comm, NBC_Handle* handle));
NBC_DECLARE(Iallgather, (const void* sent, int send_count, MPI_Datatype send_type, void* received,
                         int receive_count, MPI_Datatype receive_type, MPI_Comm comm, NBC_Handle* handle));
NBC_DECLARE(Iallgatherv, (const void* sent, int send_count, MPI_Datatype send_type, void* received,
                          const int* receive_counts, const int* displacements, MPI_Datatype receive_type,
                          MPI_Comm comm, NBC_Handle* handle));
NBC_DECLARE(Ialltoall, (const void* sent, int send_count, MPI_Datatype send_type, void* received,
                        int receive_count, MPI_Datatype receive_type, MPI_Comm comm, NBC_Handle* handle));
NBC_DECLARE(Ialltoallv,
            (const void* sent, const int* send_counts, const int* send_displacements, MPI_Datatype send_type,
             void* received, const int* receive_counts, const int* receive_displacements,
             MPI_Datatype receive_type, MPI_Comm comm, NBC_Handle* handle));
NBC_DECLARE(Ireduce, (const void* sent, void* received, int count, MPI_Datatype type, MPI_Op op, int root,
                      MPI_Comm comm, NBC_Handle* handle));
NBC_DECLARE(Iallreduce, (const void* sent, void* received, int count, MPI_Datatype type, MPI_Op op,
                         MPI_Comm comm, NBC_Handle* handle));
NBC_DECLARE(Ireduce_scatter, (const void* sent, void* received, const int* receive_counts, MPI_Datatype type,
                              MPI_Op op, MPI_Comm comm, NBC_Handle* handle));
NBC_DECLARE(Iscan, (const void* sent, void* received, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm,
                    NBC_Handle* handle));

/* With the neighbours in the communicator's topology: a block for each, in the order of
 * NBC_Comm_neighbors. The two names of each mean the same. */
NBC_DECLARE(Ineighbor_alltoall,
            (const void* sent, int send_count, MPI_Datatype send_type, void* received, int receive_count,
             MPI_Datatype receive_type, MPI_Comm comm, NBC_Handle* handle));
NBC_DECLARE(Ineighbor_xchg,
            (const void* sent, int send_count, MPI_Datatype send_type, void* received, int receive_count,
             MPI_Datatype receive_type, MPI_Comm comm, NBC_Handle* handle));
NBC_DECLARE(Ineighbor_alltoallv,
            (const void* sent, const int* send_counts, const int* send_displacements, MPI_Datatype send_type,
             void* received, const int* receive_counts, const int* receive_displacements,
             MPI_Datatype receive_type, MPI_Comm comm, NBC_Handle* handle));
NBC_DECLARE(Ineighbor_xchgv,
            (const void* sent, const int* send_counts, const int* send_displacements, MPI_Datatype send_type,
             void* received, const int* receive_counts, const int* receive_displacements,
             MPI_Datatype receive_type, MPI_Comm comm, NBC_Handle* handle));
/* Without displacements: the blocks stand side by side, each of its count times its type's extent. */
NBC_DECLARE(Ineighbor_alltoallw, (const void* sent, const int* send_counts, const MPI_Datatype* send_types,
                                  void* received, const int* receive_counts,
                                  const MPI_Datatype* receive_types, MPI_Comm comm, NBC_Handle* handle));
/* The same block to every neighbour. */
NBC_DECLARE(Ineighbor_allgather,
            (const void* sent, int send_count, MPI_Datatype send_type, void* received, int receive_count,
             MPI_Datatype receive_type, MPI_Comm comm, NBC_Handle* handle));
NBC_DECLARE(Ineighbor_allgatherv, (const void* sent, int send_count, MPI_Datatype send_type, void* received,
                                   const int* receive_counts, const int* displacements,
                                   MPI_Datatype receive_type, MPI_Comm comm, NBC_Handle* handle));
/* On a grid: sends to the rank that is `displacement` further in this dimension, and receives from the rank
 * that is as much before; at an open end nothing. */
NBC_DECLARE(Icart_shift_xchg,
            (const void* sent, int send_count, MPI_Datatype send_type, void* received, int receive_count,
             MPI_Datatype receive_type, int dimension, int displacement, MPI_Comm comm, NBC_Handle* handle));

/* Open MPI has functions of its own by these two names. */
#define NBC_Comm_neighbors_count PNBC_Comm_neighbors_count
#define NBC_Comm_neighbors PNBC_Comm_neighbors
/* How many neighbours, and which: on grids two in each dimension, the lower one first, MPI_PROC_NULL where
 * there is none. Weights are those of a distributed graph. */
NBC_DECLARE(Comm_neighbors_count, (MPI_Comm comm, int* indegree, int* outdegree, int* weighted));
NBC_DECLARE(Comm_neighbors, (MPI_Comm comm, int max_sources, int* sources, int* source_weights,
                             int max_destinations, int* destinations, int* destination_weights));

/* Waits until it is complete; one that is complete returns at once. The status says nothing. */
NBC_DECLARE(Wait, (NBC_Handle * handle, MPI_Status* status));
/* Moves what runs. As in LibNBC the flag becomes NBC_OK, which is 0, when it is complete, and NBC_CONTINUE
 * when it is not. */
NBC_DECLARE(Test, (NBC_Handle * handle, int* flag, MPI_Status* status));
/* The same, as the value that is returned. */
NBC_DECLARE(Testold, (NBC_Handle * handle));

/* LibNBC before 1.1 had NBC_Test(handle), which is NBC_Testold, and NBC_Wait(handle). */
#define NBC_CHOOSE_(first, second, third, chosen, ...) chosen
#define NBC_Test(...) NBC_CHOOSE_(__VA_ARGS__, NBC_Test, NBC_Test, NBC_Testold, )(__VA_ARGS__)
#define NBC_Wait(...) NBC_CHOOSE_(__VA_ARGS__, NBC_Wait, NBC_Wait, NBC_WAIT_FOR_, )(__VA_ARGS__)
#define NBC_WAIT_FOR_(handle) NBC_Wait(handle, MPI_STATUS_IGNORE)

#ifdef __cplusplus
}
#endif

#endif
