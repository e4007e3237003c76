// What Lapwing did for the program: counted per collective, summed over ranks, said at the end.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "collectives/algorithm.hpp"
#include "engines/engine.hpp"

namespace lapwing {

// Why a call went to the native MPI. The reasons depend only on what all ranks of the group share, except
// that each rank revokes a communicator for itself.
enum class Fallback : std::uint8_t {
    intercommunicator,
    other_world,
    late,
    engine_mpi,
    fault_tolerant,
    revoked,
    no_hook,
    no_plan,
    tool,
    arguments,
};
constexpr std::size_t fallback_reasons = 10;
const char* name(Fallback reason);

constexpr std::size_t reported_collectives = 0
#define LAPWING_COLLECTIVE(name, mpi_name, also, traits) +1
#include "task/collectives.def"
    ;

struct CollectiveCount {
    std::uint64_t taken = 0;
    std::uint64_t bytes_sent = 0;   // by the lists, to other ranks
    std::uint64_t start_time = 0;   // nanoseconds inside the starting calls
    std::uint64_t wait_time = 0;    // nanoseconds inside calls that waited for or tested a request
    std::uint64_t hidden_time = 0;  // nanoseconds in flight while the program was elsewhere
    std::uint64_t wake_ups = 0;     // of progress threads, for the lists
    std::uint64_t blocking = 0;     // calls of the blocking form that nobody asked Lapwing to take
    std::array<std::uint64_t, fallback_reasons> fell_back{};
};

// Buffers in the memory of devices that were copied, of all collectives. Inside Entry.
struct DeviceCount {
    std::uint64_t buffers = 0;
    std::uint64_t bytes_to_host = 0;
    std::uint64_t bytes_to_devices = 0;
};

// How often this rank's lists of one collective came from an algorithm and ran on an engine.
struct Use {
    const Algorithm* algorithm;
    const Engine* engine;
    std::uint64_t calls;
};

struct Report {
    std::array<CollectiveCount, reported_collectives> collectives;
    std::array<std::vector<Use>, reported_collectives> uses;
    DeviceCount devices;

    CollectiveCount& of(Collective collective) { return collectives[static_cast<std::size_t>(collective)]; }
    // These are called without a lock, by several threads.
    void count_fallback(Collective collective, Fallback reason) {
        std::atomic_ref(of(collective).fell_back[static_cast<std::size_t>(reason)])
            .fetch_add(1, std::memory_order_relaxed);
    }
    void count_blocking(Collective collective) {
        std::atomic_ref(of(collective).blocking).fetch_add(1, std::memory_order_relaxed);
    }
    void count_use(Collective collective, const Algorithm* algorithm, const Engine* engine);
};

// The report that was asked for.
struct ReportTarget {
    std::string form = "none";  // or text, or json
    std::string file;           // empty: standard error
    std::string mark;           // empty: none
};

// Called by rank 0 in MPI_Init: makes the empty file `mark`, so that `lapwing run` can tell a program that
// does not call MPI_Finalize from one that does not load this library. Returns the mark that report_job()
// fills: another file, in the working directory, if the launcher's host has the directory of `mark` for
// itself. Does nothing if `mark` is empty.
std::string begin_report(const std::string& mark);

}  // namespace lapwing
