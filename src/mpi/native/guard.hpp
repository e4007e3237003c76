// What every function that the program calls has around it: no exception leaves it.
#pragma once

#include <mpi.h>

#include <string>

#include "base/error.hpp"

namespace lapwing {

// Writes why to standard error, and ends all ranks.
[[noreturn]] void end_job(const std::string& message, int status);

// Ends the job with the message of the exception that is being handled, or returns the MPI's error code for
// want of memory.
int handle_exception();

// The MPI's error code for what is being handled, where it has one; otherwise goes on with the exception. In
// a catch clause.
int error_code_of(const Error& error);

// Calls the error handler of a communicator, or of MPI_COMM_WORLD when that has been freed, unless there is
// no error. Gives the error back. Outside of Entry.
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
