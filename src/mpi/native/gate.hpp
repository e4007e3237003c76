// The gate between the program's threads and Lapwing's thread, which drives the native MPI while the program
// computes (async_progress.hpp). An MPI of a level below MPI_THREAD_MULTIPLE admits one thread at a time.
// Every call of the program therefore marks its thread as inside the MPI: an InMpi in each function that this
// library defines, and gated_functions.hpp for all others. Lapwing's thread closes the gate, and enters only
// if nobody is inside; a call that meets the closed gate waits for the end of that poll.
//
// The program's side costs a store and a load, without a fence: Lapwing's thread pays for both sides by
// membarrier(2), once for each poll.
#pragma once

#include <atomic>
#include <cstdint>

#include "watch/journal.hpp"

namespace lapwing::gate {

// What the next calls must attend to; 0 for most calls of most programs.
inline constexpr std::uint32_t closed = 1;    // Lapwing's thread is inside the MPI
inline constexpr std::uint32_t wanted = 2;    // by a thread of the program meanwhile
inline constexpr std::uint32_t observed = 4;  // the thread wants to know when the program leaves and returns
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

// The slow halves of a call: with attention.
void enter();
void leave(const void* site);

// Whether every function of this MPI that may move messages passes the gate.
bool knows_all();

// For Lapwing's thread. False if this kernel has no membarrier(2).
bool can_close();
// Registers the process for membarrier(2), if it has one thread. The kernel makes a process of several
// threads wait 10 to 30 ms for all processors (an RCU grace period): Lapwing's thread does so before its
// first attempt.
void register_single_thread();
// Returns whether no thread of the program is inside the MPI. `excludes`: nobody enters until open().
bool try_close(bool excludes);
bool is_wanted();
void open();

}  // namespace lapwing::gate

namespace lapwing {

// A thread of the program is inside a call of the MPI. Calls nest: the MPI itself, and callbacks of the
// program, call MPI functions.
class InMpi {
  public:
    // `site`: where the call returns to.
    [[gnu::always_inline]] explicit InMpi(const void* site)
        : thread_(watch::Journal::of_thread()), site_(site), outermost_(!thread_.is_inside_mpi()) {
        thread_.depth.store(thread_.depth.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
        if (outermost_) pass_gate();
    }
    [[gnu::always_inline]] ~InMpi() {
        thread_.depth.store(thread_.depth.load(std::memory_order_relaxed) - 1, std::memory_order_release);
        if (outermost_) leave_gate(site_);
    }
    InMpi(const InMpi&) = delete;
    InMpi& operator=(const InMpi&) = delete;

    static bool any() { return watch::Journal::of_thread().is_inside_mpi(); }

    // Once the thread is marked as inside, and once it is no longer.
    [[gnu::always_inline]] static void pass_gate() {
        std::atomic_signal_fence(std::memory_order_seq_cst);
        if (gate::attention.load(std::memory_order_acquire) != 0) [[unlikely]]
            gate::enter();
    }
    [[gnu::always_inline]] static void leave_gate(const void* site) {
        if (gate::attention.load(std::memory_order_relaxed) != 0) [[unlikely]]
            gate::leave(site);
    }

  private:
    watch::ThreadRecord& thread_;
    const void* site_;
    const bool outermost_;
};

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
    InRecordedMpi(const InRecordedMpi&) = delete;
    InRecordedMpi& operator=(const InRecordedMpi&) = delete;

  private:
    watch::InCall call_;
    const void* site_;
};

// The same of the usual call, by a thread that is inside no other and has nothing to attend to: a small
// message must not pay for what a call may have to do. Null otherwise, and nothing is recorded.
[[gnu::always_inline]] inline watch::ThreadRecord* try_enter(const char* function, const void* site,
                                                             std::uint64_t communicator, int peer, int tag) {
    watch::ThreadRecord* const record = watch::Journal::known_thread();
    if (record == nullptr || record->is_inside_mpi()) [[unlikely]]
        return nullptr;
    watch::InCall::begin(*record, function, site, communicator, peer, tag, watch::CallClock::next());
    std::atomic_signal_fence(std::memory_order_seq_cst);
    if (gate::attention.load(std::memory_order_acquire) == 0) [[likely]]
        return record;
    watch::InCall::end(*record);
    return nullptr;
}
[[gnu::always_inline]] inline void leave(watch::ThreadRecord& entered, const void* site) {
    watch::InCall::end(entered);
    InMpi::leave_gate(site);
}

}  // namespace lapwing
