// The start of a collective: from the program's problem to a request.
#pragma once

#include <mpi.h>

#include "mpi/requests/request.hpp"

namespace lapwing {

enum class Outcome { taken, declined, failed };

struct Started {
    Outcome outcome;
    int error = MPI_SUCCESS;
    Request* request = nullptr;

    // The native MPI must have the call.
    static Started declined() { return {Outcome::declined}; }
    static Started failed_by(int code) { return {Outcome::failed, code}; }
};

// Whether an MPI would take it at all.
bool fits(const Problem& problem);

// A nonblocking or a blocking call's. Outside of Entry.
Started start(Communicator& group, Problem& problem, const Preparation& preparation, bool blocking);

// Of a persistent call's request, inside Entry: the MPI's error code.
int start_again(Request& request);

}  // namespace lapwing
