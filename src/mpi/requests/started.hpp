// The outcome of a call that starts or makes a collective.
#pragma once

#include <mpi.h>

namespace lapwing {

struct Request;

enum class Outcome {
    taken,
    declined,  // the native MPI must run the call
    failed,
};

struct Started {
    Outcome outcome;
    int error = MPI_SUCCESS;
    Request* request = nullptr;

    static Started declined() { return {Outcome::declined}; }
    static Started failed_by(int code) { return {Outcome::failed, code}; }
};

}  // namespace lapwing
