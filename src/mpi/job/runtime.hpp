// The state of Lapwing inside one MPI process.
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "job/network.hpp"
#include "job/rank_locations.hpp"
#include "mpi/job/mpi_job.hpp"
#include "mpi/job/report.hpp"
#include "mpi/native/progress_mode.hpp"
#include "plan/planner.hpp"
#include "watch/job_watch.hpp"

namespace lapwing {

struct Runtime {
    std::atomic<bool> started{false};  // the members below are set
    PlanOptions options;               // of every group that its communicator's hints do not change
    RankLocations locations;
    std::unique_ptr<MpiJob> job;
    std::unique_ptr<JobNetwork> network;       // null if the engine is "mpi"
    std::unique_ptr<watch::JobWatch> watch;    // null in a job that has no agreement
    bool takes_calls = false;                  // started, and the engine is not "mpi"
    Fallback why_not = Fallback::engine_mpi;   // when it takes none
    std::atomic<bool> makes_operators{false};  // the program
    // In this MPI a persistent request that completes in the progress of another thread is inactive for the
    // program, without a status.
    bool loses_persistent_messages = false;
    bool takes_blocking = false;  // LAPWING_BLOCKING
    bool measures = false;        // a report or a timeline is wanted: clocks are read
    ProgressFacts facts;          // those that are known by now
    ProgressMode mode;            // by these; what the program does may end the messages later
    ReportTarget report_target;
    Report report;

    // A fact has become known.
    template <typename Change>
    void learn(Change change) {
        change(facts);
        mode = progress_mode(facts);
    }

    // A rank may fail while the others continue: nothing of Lapwing may wait for a peer.
    bool fault_tolerant() const { return why_not == Fallback::fault_tolerant; }
};
extern Runtime runtime;

}  // namespace lapwing
