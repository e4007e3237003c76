// What Lapwing did for the program: counted per collective, summed over ranks, said at the end.
#pragma once

#include <mpi.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "collectives/algorithm.hpp"
#include "engines/engine.hpp"
#include "job/network.hpp"
#include "links/shm/transfer_choice.hpp"

namespace lapwing {

struct MessageCount;  // mpi/native/async_progress.hpp

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
    std::uint64_t bytes_sent = 0;          // by the lists, to other ranks
    std::uint64_t start_time = 0;          // nanoseconds inside the starting calls
    std::uint64_t wait_time = 0;           // nanoseconds inside calls that waited for or tested a request
    std::uint64_t hidden_time = 0;         // nanoseconds in flight while the program was elsewhere
    std::uint64_t bytes_from_devices = 0;  // to host memory, and back
    std::uint64_t bytes_to_devices = 0;
    std::uint64_t device_buffers = 0;  // that were copied
    std::uint64_t wake_ups = 0;        // of progress threads, for the lists
    std::uint64_t blocking = 0;        // calls of the blocking form that nobody asked Lapwing to take
    std::array<std::uint64_t, fallback_reasons> fell_back{};
};

// How often this rank's lists of one collective came from an algorithm and ran on an engine.
struct Use {
    const Algorithm* algorithm;
    const Engine* engine;
    std::uint64_t calls;
};

// How the lists were run, for the report.
struct Manner {
    std::string engine = {};   // that was asked for
    std::string network = {};  // that joins the hosts, for people; empty where all ranks are on one
    Missing missing = {};
    // Who moves messages inside rank 0's host: "caller" or "progress thread"; empty where its ranks share no
    // memory.
    std::string progress = {};
    // There, of long messages that rank 0 has received.
    std::vector<shm::TransferTimes> transfers = {};
    // Of rank 0's engines: see JobEngine::choices().
    std::vector<std::string> choices = {};
    std::string watch_trouble = {};  // which ranks `lapwing status` cannot ask, and why
    std::string advice = {};
    std::string no_messages =
        {};  // why messages of the program do not move while it computes; empty: they do
    // Files that define collectives before Lapwing, and which: calls that these do not pass on are not
    // counted.
    std::map<std::string, std::vector<std::string>> before = {};
    // Tools that pass the program's calls on to Lapwing; the report counts the tools' own collectives as
    // well.
    std::vector<std::string> tools = {};
};

struct Report {
    std::array<CollectiveCount, reported_collectives> collectives;
    std::array<std::vector<Use>, reported_collectives> uses;

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

// Called by rank 0 in MPI_Init: makes the empty file `mark`, so that `lapwing run` can tell a program that
// does not call MPI_Finalize from one that does not load this library. Returns the mark that write_report()
// fills: another file, in the working directory, if the launcher's host has the directory of `mark` for
// itself. Does nothing if `mark` is empty.
std::string begin_report(const std::string& mark);

// Collective over `all`, a communicator of all ranks of the job: sums the counts up, and rank 0 writes them
// with its own uses, in `form` (text or json), to `file`, or to standard error when `file` is empty. Then it
// fills `mark`. Throws MpiError, where the communicator returns errors.
struct ReportTarget {
    std::string form = "none";
    std::string file;
    std::string mark;  // empty: none
};
void write_report(const Report& mine, const MessageCount& messages, MPI_Comm all, const ReportTarget& target,
                  const Manner& manner);

}  // namespace lapwing
