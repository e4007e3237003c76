/* LibNBC's functions by MPI's own: Lapwing takes those over, where it is preloaded or linked. */
#include "mpi/nbc/common.h"

static int is_root(int root, MPI_Comm comm) {
    int rank = 0;
    MPI_Comm_rank(comm, &rank);
    return rank == root;
}

static const void* sent_from(const void* sent, const void* received) {
    return in_place(sent, received) ? MPI_IN_PLACE : sent;
}

int PNBC_Ibarrier(MPI_Comm comm, NBC_Handle* handle) {
    begin(handle);
    return MPI_Ibarrier(comm, &handle->request);
}
NBC_ALIAS(Ibarrier);

int PNBC_Ibcast(void* buffer, int count, MPI_Datatype type, int root, MPI_Comm comm, NBC_Handle* handle) {
    begin(handle);
    return MPI_Ibcast(buffer, count, type, root, comm, &handle->request);
}
NBC_ALIAS(Ibcast);

int PNBC_Ibcast_inter(void* buffer, int count, MPI_Datatype type, int root, MPI_Comm comm,
                      NBC_Handle* handle) {
    return PNBC_Ibcast(buffer, count, type, root, comm, handle);
}
NBC_ALIAS(Ibcast_inter);

int PNBC_Igather(const void* sent, int send_count, MPI_Datatype send_type, void* received, int receive_count,
                 MPI_Datatype receive_type, int root, MPI_Comm comm, NBC_Handle* handle) {
    begin(handle);
    if (is_root(root, comm)) sent = sent_from(sent, received);
    return MPI_Igather(sent, send_count, send_type, received, receive_count, receive_type, root, comm,
                       &handle->request);
}
NBC_ALIAS(Igather);

int PNBC_Igatherv(const void* sent, int send_count, MPI_Datatype send_type, void* received,
                  const int* receive_counts, const int* displacements, MPI_Datatype receive_type, int root,
                  MPI_Comm comm, NBC_Handle* handle) {
    begin(handle);
    if (is_root(root, comm)) sent = sent_from(sent, received);
    return MPI_Igatherv(sent, send_count, send_type, received, receive_counts, displacements, receive_type,
                        root, comm, &handle->request);
}
NBC_ALIAS(Igatherv);

int PNBC_Iscatter(const void* sent, int send_count, MPI_Datatype send_type, void* received, int receive_count,
                  MPI_Datatype receive_type, int root, MPI_Comm comm, NBC_Handle* handle) {
    begin(handle);
    if (is_root(root, comm) && in_place(received, sent)) received = MPI_IN_PLACE;
    return MPI_Iscatter(sent, send_count, send_type, received, receive_count, receive_type, root, comm,
                        &handle->request);
}
NBC_ALIAS(Iscatter);

int PNBC_Iscatterv(const void* sent, const int* send_counts, const int* displacements, MPI_Datatype send_type,
                   void* received, int receive_count, MPI_Datatype receive_type, int root, MPI_Comm comm,
                   NBC_Handle* handle) {
    begin(handle);
    if (is_root(root, comm) && in_place(received, sent)) received = MPI_IN_PLACE;
    return MPI_Iscatterv(sent, send_counts, displacements, send_type, received, receive_count, receive_type,
                         root, comm, &handle->request);
}
NBC_ALIAS(Iscatterv);

int PNBC_Iallgather(const void* sent, int send_count, MPI_Datatype send_type, void* received,
                    int receive_count, MPI_Datatype receive_type, MPI_Comm comm, NBC_Handle* handle) {
    begin(handle);
    return MPI_Iallgather(sent_from(sent, received), send_count, send_type, received, receive_count,
                          receive_type, comm, &handle->request);
}
NBC_ALIAS(Iallgather);

int PNBC_Iallgatherv(const void* sent, int send_count, MPI_Datatype send_type, void* received,
                     const int* receive_counts, const int* displacements, MPI_Datatype receive_type,
                     MPI_Comm comm, NBC_Handle* handle) {
    begin(handle);
    return MPI_Iallgatherv(sent_from(sent, received), send_count, send_type, received, receive_counts,
                           displacements, receive_type, comm, &handle->request);
}
NBC_ALIAS(Iallgatherv);

int PNBC_Ialltoall(const void* sent, int send_count, MPI_Datatype send_type, void* received,
                   int receive_count, MPI_Datatype receive_type, MPI_Comm comm, NBC_Handle* handle) {
    begin(handle);
    return MPI_Ialltoall(sent_from(sent, received), send_count, send_type, received, receive_count,
                         receive_type, comm, &handle->request);
}
NBC_ALIAS(Ialltoall);

int PNBC_Ialltoallv(const void* sent, const int* send_counts, const int* send_displacements,
                    MPI_Datatype send_type, void* received, const int* receive_counts,
                    const int* receive_displacements, MPI_Datatype receive_type, MPI_Comm comm,
                    NBC_Handle* handle) {
    begin(handle);
    return MPI_Ialltoallv(sent_from(sent, received), send_counts, send_displacements, send_type, received,
                          receive_counts, receive_displacements, receive_type, comm, &handle->request);
}
NBC_ALIAS(Ialltoallv);

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

int PNBC_Iallreduce(const void* sent, void* received, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm,
                    NBC_Handle* handle) {
    begin(handle);
    return MPI_Iallreduce(sent_from(sent, received), received, count, type, op, comm, &handle->request);
}
NBC_ALIAS(Iallreduce);

int PNBC_Ireduce_scatter(const void* sent, void* received, const int* receive_counts, MPI_Datatype type,
                         MPI_Op op, MPI_Comm comm, NBC_Handle* handle) {
    begin(handle);
    return MPI_Ireduce_scatter(sent_from(sent, received), received, receive_counts, type, op, comm,
                               &handle->request);
}
NBC_ALIAS(Ireduce_scatter);

int PNBC_Iscan(const void* sent, void* received, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm,
               NBC_Handle* handle) {
    begin(handle);
    return MPI_Iscan(sent_from(sent, received), received, count, type, op, comm, &handle->request);
}
NBC_ALIAS(Iscan);

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
