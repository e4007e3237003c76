// The state of Lapwing inside one MPI process.
#pragma once

#include <mpi.h>

#include <atomic>
#include <chrono>
#include <thread>

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

// One thread at a time inside Lapwing. Progress that the MPI calls from inside Lapwing's own calls finds it
// taken and goes away, so nobody ever waits for this lock while holding one of the MPI's.
class Entry {
  public:
    Entry() {
        if (!runtime.threads) {
            busy_.store(true, std::memory_order_relaxed);
            return;
        }
        while (busy_.exchange(true, std::memory_order_acquire)) std::this_thread::yield();
    }
    ~Entry() { busy_.store(false, std::memory_order_release); }
    Entry(const Entry&) = delete;
    Entry& operator=(const Entry&) = delete;

    static bool try_enter() {
        if (!runtime.threads) {
            if (busy_.load(std::memory_order_relaxed)) return false;
            busy_.store(true, std::memory_order_relaxed);
            return true;
        }
        return !busy_.exchange(true, std::memory_order_acquire);
    }
    static bool busy() { return busy_.load(std::memory_order_relaxed); }
    static void leave() { busy_.store(false, std::memory_order_release); }

  private:
    static inline std::atomic<bool> busy_{false};
};

inline std::uint64_t nanoseconds() {
    return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(
                                          std::chrono::steady_clock::now().time_since_epoch())
                                          .count());
}

}  // namespace lapwing
