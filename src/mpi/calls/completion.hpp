// Waiting for one of Lapwing's requests.
#pragma once

#include <mpi.h>

#include "base/trace.hpp"
#include "mpi/requests/request.hpp"

namespace lapwing {

// Waits, gives the request back and sets *handle, which is its own, to null. Returns what the collective
// returned, after the error handler of its communicator has been called. `call` is what the program waits in.
int wait_for(Request& request, MPI_Request* handle, MPI_Status* status, trace::Call call = trace::Call::wait);

}  // namespace lapwing
