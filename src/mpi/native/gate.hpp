// The gate between the program's threads and Lapwing's thread, which drives the native MPI while the program
// computes (async_progress.hpp). An MPI of a level below MPI_THREAD_MULTIPLE admits one thread at a time, and
// with MPI_THREAD_MULTIPLE the program's threads alone find out how safe it is for several. Every call of the
// program therefore marks its thread as inside the MPI: an InMpi in each function that this library defines,
// and gated_functions.hpp for all others. Lapwing's thread closes the gate, and enters only if nobody is
// inside; a call that meets the closed gate waits for the end of that poll.
//
// The program's side costs a store and a load, without a fence: Lapwing's thread pays for both sides by
// membarrier(2), once for each poll.
#pragma once

#include <sched.h>

#include <atomic>
#include <cstdint>

#include "mpi/native/gate_protocol.hpp"
#include "watch/journal.hpp"

namespace lapwing::gate {

inline constinit std::atomic<std::uint32_t> attention{0};
// Set where Lapwing's thread never enters the MPI: calls that only start a message then go straight to the
// MPI, which makes no calls of MPI functions in them.
inline constinit std::atomic<bool> stays_open{false};

// Sets `observed` if needed() holds, and clears it otherwise. Threads that change what needed() reads call
// this afterwards, and may do so at once: the last one to write the flag looks again.
template <typename Needed>
void observe(Needed needed) {
    for (bool now = needed(), set = !now; set != now; now = needed()) {
        set = now;
        if (set)
            attention.fetch_or(observed);
        else
            attention.fetch_and(~observed);
    }
}

// The words of this process.
struct Process {
    using Record = watch::ThreadRecord;
    static constexpr int polls_before_yield = 100;
    static constexpr int polls_before_sleep = 200;
    static std::atomic<std::uint32_t>& attention() { return gate::attention; }
    static Record& of_thread() { return watch::Journal::of_thread(); }
    static Record* known_thread() { return watch::Journal::known_thread(); }
    static const Record* first_record() { return watch::thread_records.load(std::memory_order_acquire); }
    static void enter();
    static void leave(const void* site);
    static void full_barrier();
    static void yield() { ::sched_yield(); }
};

// Whether every function of this MPI that may move messages passes the gate.
bool knows_all();

// For Lapwing's thread. False if this kernel has no membarrier(2).
bool can_close();
// Registers the process for membarrier(2), if it has one thread. The kernel makes a process of several
// threads wait 10 to 30 ms for all processors (an RCU grace period): Lapwing's thread does so before its
// first attempt.
void register_single_thread();
// Returns whether no thread of the program is inside the MPI: then nobody enters until open().
bool try_close();
bool is_wanted();
void open();

}  // namespace lapwing::gate

namespace lapwing {

using InMpi = gate::InMpi<gate::Process>;

// The same of a call that the journal records, whose record marks the thread.
class InRecordedMpi {
  public:
    [[gnu::always_inline]] InRecordedMpi(const char* function, const void* site,
                                         std::uint64_t communicator = 0, int peer = watch::Journal::no_peer,
                                         int tag = -1)
        : call_(function, site, communicator, peer, tag), site_(site) {
        if (call_.is_outermost()) InMpi::pass_gate();
    }
    [[gnu::always_inline]] ~InRecordedMpi() {
        const bool leaves = call_.is_outermost();
        call_.end();
        if (leaves) InMpi::leave_gate(site_);
    }
    InRecordedMpi& operator=(InRecordedMpi&&) = delete;

  private:
    watch::InCall call_;
    const void* site_;
};

}  // namespace lapwing
