// No exception leaves a function that the program calls.
#pragma once

#include <mpi.h>

#include <string>

#include "base/error.hpp"

namespace lapwing {

// Writes the message to standard error and ends all ranks.
[[noreturn]] void end_job(const std::string& message, int status);

// In a catch clause. Returns the MPI's error code if memory is exhausted; otherwise ends the job with the
// message of the exception.
int handle_exception();

// In a catch clause. Returns the MPI's error code for the exception, or rethrows it if there is none.
int error_code_of(const Error& error);

// Calls the error handler of the communicator, or of MPI_COMM_WORLD if the communicator has been freed. Does
// nothing for MPI_SUCCESS. Returns the error. Outside of Entry.
int raise(MPI_Comm communicator, int error);

template <typename Call>
int guarded(Call call) {
    try {
        return call();
    } catch (...) {
        return handle_exception();
    }
}

}  // namespace lapwing
