// Whether Lapwing takes calls, and its start.
#pragma once

#include <atomic>

#include "mpi/job/runtime.hpp"

namespace lapwing {

// Reads the settings, once MPI is initialized. True when calls may be taken. `collective`: all ranks of
// MPI_COMM_WORLD call it together (from MPI_Init). A wrong setting ends the job with its message.
bool start_runtime(bool collective);

inline bool takes_calls() {
    return runtime.started.load(std::memory_order_acquire) ? runtime.takes_calls : start_runtime(false);
}

}  // namespace lapwing
