// Collectives of MPI sessions, for an MPI-4:
//   sessions only      a program without MPI_Init
//   sessions inside    a session that begins and ends between MPI_Init and MPI_Finalize
//   sessions outlives  one that ends after MPI_Finalize
#include <mpi.h>

#include <cstdio>
#include <cstring>

#include "persistent_forms.hpp"
#include "reference.hpp"

namespace {

bool right = true;

// Nonblocking, blocking and persistent ones on a communicator of the session's.
void exchange_on(MPI_Comm communicator) {
    const int ranks = size_of(communicator);
    for (int round = 0; round < 5; ++round) {
        Exchange exchange(communicator, 10, round);
        exchange.start();
        MPI_Wait(&exchange.request, MPI_STATUS_IGNORE);
        right = right && exchange.right();
    }
    int one = 1;
    int sum = 0;
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, communicator);
    right = right && sum == ranks;
    MPI_Request request;
    PERSISTENT(Allreduce)(&one, &sum, 1, MPI_INT, MPI_SUM, communicator, MPI_INFO_NULL, &request);
    for (int round = 0; round < 3; ++round) {
        one = round;
        MPI_Start(&request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        right = right && sum == round * ranks;
    }
    MPI_Request_free(&request);
}

MPI_Comm communicator_of(MPI_Session session) {
    MPI_Group group;
    MPI_Comm made;
    MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
    MPI_Comm_create_from_group(group, "lapwing-test", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &made);
    MPI_Group_free(&group);
    return made;
}

}  // namespace

int main(int argc, char** argv) {
    const char* mode = argc > 1 ? argv[1] : "only";
    const bool only = std::strcmp(mode, "only") == 0;
    const bool outlives = std::strcmp(mode, "outlives") == 0;
    if (!only) MPI_Init(&argc, &argv);
    MPI_Session session;
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
    MPI_Comm communicator = communicator_of(session);
    exchange_on(communicator);
    if (outlives) {
        MPI_Finalize();
        exchange_on(communicator);
    }
    const int rank = rank_in(communicator);
    MPI_Comm_free(&communicator);
    MPI_Session_finalize(&session);
    if (!only && !outlives) {
        exchange_on(MPI_COMM_WORLD);
        MPI_Finalize();
    }
    if (rank == 0) std::printf("%s\n", right ? "all right" : "wrong");
    return right ? 0 : 1;
}
