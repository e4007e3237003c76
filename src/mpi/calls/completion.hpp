// Waiting for one request.
#pragma once

#include <mpi.h>

#include "base/trace.hpp"
#include "mpi/requests/request.hpp"

namespace lapwing {

// Waits until the request is complete and releases it. `handle` is the program's variable with the request's
// handle: set to null unless the request is persistent. `call` names the program's call in a trace. Returns
// the collective's error code, after the error handler of its communicator has been called.
int wait_for(Request& request, MPI_Request* handle, MPI_Status* status, trace::Call call = trace::Call::wait);

}  // namespace lapwing
