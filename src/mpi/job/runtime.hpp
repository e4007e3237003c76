// The state of Lapwing inside one MPI process.
#pragma once

#include <mpi.h>

#include <atomic>

#include "base/settings.hpp"
#include "mpi/job/network.hpp"
#include "mpi/job/rank_locations.hpp"
#include "mpi/job/report.hpp"
#include "plan/planner.hpp"

namespace lapwing {

struct Runtime {
    PlanOptions options;  // of every group that its communicator's hints do not change
    RankLocations locations;
    Network network;
    bool takes_calls = false;                 // started, and the engine is not "mpi"
    Fallback why_not = Fallback::engine_mpi;  // when it takes none
    bool takes_blocking = false;              // the blocking forms, too
    bool measures = false;                    // a report is wanted: clocks are read
    bool threads = false;                     // MPI_THREAD_MULTIPLE
    std::string report_form = "none";
    std::string report_file;
    Report report;
};
extern Runtime runtime;

// Reads the settings, once MPI is initialized. True when calls may be taken. `collective` says that all ranks
// of MPI_COMM_WORLD call it together (from MPI_Init), so that they can compare their settings.
// A wrong setting ends the job with its message.
bool start_runtime(bool collective);
extern std::atomic<bool> runtime_started;
inline bool takes_calls() {
    return runtime_started.load(std::memory_order_acquire) ? runtime.takes_calls : start_runtime(false);
}

}  // namespace lapwing
