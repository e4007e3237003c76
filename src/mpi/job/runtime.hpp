// The state of Lapwing inside one MPI process.
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "job/network.hpp"
#include "job/rank_locations.hpp"
#include "mpi/job/mpi_job.hpp"
#include "mpi/job/report.hpp"
#include "plan/planner.hpp"
#include "watch/job_watch.hpp"

namespace lapwing {

struct Runtime {
    std::atomic<bool> started{false};  // the members below are set
    PlanOptions options;               // of every group that its communicator's hints do not change
    RankLocations locations;
    std::unique_ptr<MpiJob> job;
    std::unique_ptr<JobNetwork> network;      // null if the engine is "mpi"
    std::unique_ptr<watch::JobWatch> watch;   // null in a job that has no agreement
    bool takes_calls = false;                 // started, and the engine is not "mpi"
    Fallback why_not = Fallback::engine_mpi;  // when it takes none
    bool takes_blocking = false;              // LAPWING_BLOCKING
    // A report or a timeline is wanted, or a tool has started a timer by MPI_T: clocks are read. A tool may
    // set it at any time, also while requests are in flight.
    std::atomic<bool> measures{false};
    bool threads = false;  // MPI_THREAD_MULTIPLE
    std::string report_form = "none";
    std::string report_file;
    std::string report_mark;
    Report report;
};
extern Runtime runtime;

}  // namespace lapwing
