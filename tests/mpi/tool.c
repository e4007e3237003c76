// A profiling tool: counts the calls of some functions, passes them on by their PMPI names, and prints the
// counts in MPI_Finalize. It does not pass on MPI_Ibcast.
#include <mpi.h>
#include <stdio.h>

static int starts, sends, collectives, waits, messages, tests;

int MPI_Init(int* argc, char*** argv) {
    ++starts;
    return PMPI_Init(argc, argv);
}

int MPI_Init_thread(int* argc, char*** argv, int required, int* provided) {
    ++starts;
    return PMPI_Init_thread(argc, argv, required, provided);
}

int MPI_Send(const void* buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm) {
    ++sends;
    return PMPI_Send(buffer, count, type, to, tag, comm);
}

int MPI_Ialltoall(const void* sent, int send_count, MPI_Datatype send_type, void* received, int receive_count,
                  MPI_Datatype receive_type, MPI_Comm comm, MPI_Request* request) {
    ++collectives;
    return PMPI_Ialltoall(sent, send_count, send_type, received, receive_count, receive_type, comm, request);
}

int MPI_Isend(const void* buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
              MPI_Request* request) {
    ++messages;
    return PMPI_Isend(buffer, count, type, to, tag, comm, request);
}

int MPI_Irecv(void* buffer, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm,
              MPI_Request* request) {
    ++messages;
    return PMPI_Irecv(buffer, count, type, from, tag, comm, request);
}

int MPI_Test(MPI_Request* request, int* flag, MPI_Status* status) {
    ++tests;
    return PMPI_Test(request, flag, status);
}

int MPI_Iprobe(int from, int tag, MPI_Comm comm, int* flag, MPI_Status* status) {
    ++tests;
    return PMPI_Iprobe(from, tag, comm, flag, status);
}

int MPI_Ibcast(void* buffer, int count, MPI_Datatype type, int root, MPI_Comm comm, MPI_Request* request) {
    *request = MPI_REQUEST_NULL;
    return PMPI_Bcast(buffer, count, type, root, comm);
}

int MPI_Wait(MPI_Request* request, MPI_Status* status) {
    ++waits;
    return PMPI_Wait(request, status);
}

int MPI_Finalize(void) {
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0)
        printf("tool: %d starts, %d sends, %d collectives, %d waits\n", starts, sends, collectives, waits);
    if (rank == 0 && messages > 0) printf("tool: %d messages, %d tests\n", messages, tests);
    fflush(stdout);
    return PMPI_Finalize();
}
