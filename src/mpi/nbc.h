/* SPDX-FileCopyrightText: 2026 The Lapwing authors
 * SPDX-License-Identifier: BSD-3-Clause */

/* LibNBC's collectives (Hoefler, Lumsdaine, Rehm: SC 2007) by those of MPI with the same names: a program
 * that was written for LibNBC compiles with this header, and needs no library but the MPI's.
 *
 * Counts and displacements are in elements of the types. Buffers belong to the caller and must not be
 * touched, nor may arrays of counts, displacements and types, before the handle is complete. Every function
 * returns NBC_OK, NBC_CONTINUE, or an error code of MPI. As in LibNBC, equal send and receive buffers mean
 * MPI_IN_PLACE: at the root of gather, scatter and reduce. */
#ifndef LAPWING_NBC_H
#define LAPWING_NBC_H

#include <mpi.h>
#include <stddef.h>

enum { NBC_OK = 0, NBC_SUCCESS = 0, NBC_CONTINUE = 3 /* not complete yet */ };

/* One collective in flight. */
typedef MPI_Request NBC_Handle;
typedef NBC_Handle NBC_Request;

#define NBC_Ibarrier MPI_Ibarrier
#define NBC_Ibcast MPI_Ibcast
#define NBC_Ibcast_inter MPI_Ibcast

static inline int NBC_is_root_(int root, MPI_Comm comm) {
    int rank = 0;
    MPI_Comm_rank(comm, &rank);
    return rank == root;
}

static inline int NBC_equal_(const void* sent, const void* received) {
    return sent == received && sent != NULL;
}

/* A function whose input, `buffer`, is MPI_IN_PLACE where the buffers are equal, and `where`. */
#define NBC_FUNCTION_(name, parameters, buffer, where, arguments)         \
    static inline int NBC_##name parameters {                             \
        if (NBC_equal_(sent, received) && (where)) buffer = MPI_IN_PLACE; \
        return MPI_##name arguments;                                      \
    }

NBC_FUNCTION_(Igather,
              (const void* sent, int send_count, MPI_Datatype send_type, void* received, int receive_count,
               MPI_Datatype receive_type, int root, MPI_Comm comm, NBC_Handle* handle),
              sent, NBC_is_root_(root, comm),
              (sent, send_count, send_type, received, receive_count, receive_type, root, comm, handle))
NBC_FUNCTION_(Igatherv,
              (const void* sent, int send_count, MPI_Datatype send_type, void* received,
               const int* receive_counts, const int* displacements, MPI_Datatype receive_type, int root,
               MPI_Comm comm, NBC_Handle* handle),
              sent, NBC_is_root_(root, comm),
              (sent, send_count, send_type, received, receive_counts, displacements, receive_type, root, comm,
               handle))
NBC_FUNCTION_(Iscatter,
              (const void* sent, int send_count, MPI_Datatype send_type, void* received, int receive_count,
               MPI_Datatype receive_type, int root, MPI_Comm comm, NBC_Handle* handle),
              received, NBC_is_root_(root, comm),
              (sent, send_count, send_type, received, receive_count, receive_type, root, comm, handle))
NBC_FUNCTION_(Iscatterv,
              (const void* sent, const int* send_counts, const int* displacements, MPI_Datatype send_type,
               void* received, int receive_count, MPI_Datatype receive_type, int root, MPI_Comm comm,
               NBC_Handle* handle),
              received, NBC_is_root_(root, comm),
              (sent, send_counts, displacements, send_type, received, receive_count, receive_type, root, comm,
               handle))
NBC_FUNCTION_(Iallgather,
              (const void* sent, int send_count, MPI_Datatype send_type, void* received, int receive_count,
               MPI_Datatype receive_type, MPI_Comm comm, NBC_Handle* handle),
              sent, 1, (sent, send_count, send_type, received, receive_count, receive_type, comm, handle))
NBC_FUNCTION_(Iallgatherv,
              (const void* sent, int send_count, MPI_Datatype send_type, void* received,
               const int* receive_counts, const int* displacements, MPI_Datatype receive_type, MPI_Comm comm,
               NBC_Handle* handle),
              sent, 1,
              (sent, send_count, send_type, received, receive_counts, displacements, receive_type, comm,
               handle))
NBC_FUNCTION_(Ialltoall,
              (const void* sent, int send_count, MPI_Datatype send_type, void* received, int receive_count,
               MPI_Datatype receive_type, MPI_Comm comm, NBC_Handle* handle),
              sent, 1, (sent, send_count, send_type, received, receive_count, receive_type, comm, handle))
NBC_FUNCTION_(Ialltoallv,
              (const void* sent, const int* send_counts, const int* send_displacements,
               MPI_Datatype send_type, void* received, const int* receive_counts,
               const int* receive_displacements, MPI_Datatype receive_type, MPI_Comm comm,
               NBC_Handle* handle),
              sent, 1,
              (sent, send_counts, send_displacements, send_type, received, receive_counts,
               receive_displacements, receive_type, comm, handle))
static inline int NBC_Ireduce(const void* sent, void* received, int count, MPI_Datatype type, MPI_Op op,
                              int root, MPI_Comm comm, NBC_Handle* handle) {
    if (NBC_is_root_(root, comm)) {
        if (NBC_equal_(sent, received)) sent = MPI_IN_PLACE;
    } else if (sent == MPI_IN_PLACE) {
        sent = received; /* as in LibNBC, on all ranks */
    }
    return MPI_Ireduce(sent, received, count, type, op, root, comm, handle);
}
NBC_FUNCTION_(Iallreduce,
              (const void* sent, void* received, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm,
               NBC_Handle* handle),
              sent, 1, (sent, received, count, type, op, comm, handle))
NBC_FUNCTION_(Ireduce_scatter,
              (const void* sent, void* received, const int* receive_counts, MPI_Datatype type, MPI_Op op,
               MPI_Comm comm, NBC_Handle* handle),
              sent, 1, (sent, received, receive_counts, type, op, comm, handle))
NBC_FUNCTION_(Iscan,
              (const void* sent, void* received, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm,
               NBC_Handle* handle),
              sent, 1, (sent, received, count, type, op, comm, handle))

static inline int NBC_Testold(NBC_Handle* handle) {
    int complete = 0;
    const int error = MPI_Test(handle, &complete, MPI_STATUS_IGNORE);
    return error == MPI_SUCCESS && !complete ? NBC_CONTINUE : error;
}

/* `flag` becomes NBC_OK, which is 0, when the collective is complete, and otherwise NBC_CONTINUE. */
static inline int NBC_Test(NBC_Handle* handle, int* flag, MPI_Status* status) {
    (void)status;
    *flag = NBC_Testold(handle);
    return *flag == NBC_CONTINUE ? NBC_OK : *flag;
}

static inline int NBC_Wait(NBC_Handle* handle, MPI_Status* status) {
    (void)status;
    return MPI_Wait(handle, MPI_STATUS_IGNORE);
}

/* LibNBC before 1.1 had NBC_Test(handle), which is NBC_Testold, and NBC_Wait(handle). */
#define NBC_CHOOSE_(first, second, third, chosen, ...) chosen
#define NBC_Test(...) NBC_CHOOSE_(__VA_ARGS__, NBC_Test, NBC_Test, NBC_Testold, )(__VA_ARGS__)
#define NBC_Wait(...) NBC_CHOOSE_(__VA_ARGS__, NBC_Wait, NBC_Wait, NBC_WAIT_FOR_, )(__VA_ARGS__)
#define NBC_WAIT_FOR_(handle) NBC_Wait(handle, MPI_STATUS_IGNORE)

#endif
