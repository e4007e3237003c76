// The protocol of the gate (gate.hpp), on words of any kind: those of a process, or, in tests/memory_order,
// words that Relacy watches. A platform has
//   Record                       watch::ThreadRecordOf of its words
//   attention()                  the word below
//   of_thread(), known_thread()  the calling thread's record; known_thread() may be null
//   first_record()               of all threads, linked by `next`
//   enter(), leave(site)         the slow halves of a call: with attention
//   full_barrier()               of all threads of the process
//   yield(), polls_before_yield, polls_before_sleep
#pragma once

#include <atomic>
#include <cstdint>

#include "watch/journal.hpp"

namespace lapwing::gate {

// What the next calls must attend to; 0 for most calls of most programs.
inline constexpr std::uint32_t closed = 1;    // Lapwing's thread is inside the MPI
inline constexpr std::uint32_t wanted = 2;    // by a thread of the program meanwhile
inline constexpr std::uint32_t observed = 4;  // the thread wants to know when the program leaves and returns

// By a thread of the program that is marked as inside: returns when the gate is open.
template <typename Platform>
void wait_until_open() {
    auto& attention = Platform::attention();
    if ((attention.load(std::memory_order_relaxed) & closed) != 0)
        attention.fetch_or(wanted, std::memory_order_relaxed);
    for (int polls = 0;; ++polls) {
        const std::uint32_t now = attention.load(std::memory_order_acquire);
        if ((now & closed) == 0) {
            // The gate was opened before this thread wanted it.
            if ((now & wanted) != 0) attention.fetch_and(~wanted, std::memory_order_relaxed);
            return;
        }
        // Lapwing's thread may wait for this processor. If its priority is lower, it runs only while this
        // thread sleeps.
        if (polls >= Platform::polls_before_sleep)
            attention.wait(now, std::memory_order_relaxed);
        else if (polls >= Platform::polls_before_yield)
            Platform::yield();
    }
}

// These by Lapwing's thread, which is inside all the time.

template <typename Platform>
bool someone_is_inside() {
    const auto* const own = &Platform::of_thread();
    for (const auto* thread = Platform::first_record(); thread != nullptr;
         thread = thread->next.load(std::memory_order_acquire)) {
        if (thread != own && thread->used.load(std::memory_order_acquire) != 0 && thread->is_inside_mpi())
            return true;
    }
    return false;
}

template <typename Platform>
void open() {
    Platform::attention().fetch_and(~(closed | wanted), std::memory_order_release);
    Platform::attention().notify_all();
}

// Returns whether the gate is closed: no thread of the program is inside, and none enters until open().
template <typename Platform>
bool close() {
    // A thread marks itself and then looks; this one closes the gate and then looks. The barrier keeps both
    // in their orders, so that at least one of them sees the other.
    Platform::attention().fetch_or(closed, std::memory_order_relaxed);
    Platform::full_barrier();
    if (!someone_is_inside<Platform>()) return true;
    open<Platform>();
    return false;
}

// A thread of the program is inside a call of the MPI. Calls nest: the MPI itself, and callbacks of the
// program, call MPI functions.
template <typename Platform>
class InMpi {
  public:
    // `site`: where the call returns to.
    [[gnu::always_inline]] explicit InMpi(const void* site)
        : thread_(Platform::of_thread()), site_(site), outermost_(!thread_.is_inside_mpi()) {
        thread_.depth.store(thread_.depth.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
        if (outermost_) pass_gate();
    }
    [[gnu::always_inline]] ~InMpi() {
        thread_.depth.store(thread_.depth.load(std::memory_order_relaxed) - 1, std::memory_order_release);
        if (outermost_) leave_gate(site_);
    }
    InMpi& operator=(InMpi&&) = delete;

    static bool any() { return Platform::of_thread().is_inside_mpi(); }

    // Once the thread is marked as inside, and once it is no longer.
    [[gnu::always_inline]] static void pass_gate() {
        if (must_attend()) [[unlikely]]
            Platform::enter();
    }
    [[gnu::always_inline]] static void leave_gate(const void* site) {
        if (Platform::attention().load(std::memory_order_relaxed) != 0) [[unlikely]]
            Platform::leave(site);
    }

    // The same of the usual call that the journal records, by a thread that is inside no other and has
    // nothing to attend to: a small message must not pay for what a call may have to do. Null otherwise, and
    // nothing is recorded.
    [[gnu::always_inline]] static typename Platform::Record* try_enter(const char* function, const void* site,
                                                                       std::uint64_t communicator, int peer,
                                                                       int tag) {
        auto* const record = Platform::known_thread();
        if (record == nullptr || record->is_inside_mpi()) [[unlikely]]
            return nullptr;
        watch::InCall::begin(*record, function, site, communicator, peer, tag, watch::CallClock::next());
        if (!must_attend()) [[likely]]
            return record;
        watch::InCall::end(*record);
        return nullptr;
    }
    [[gnu::always_inline]] static void leave(typename Platform::Record& entered, const void* site) {
        watch::InCall::end(entered);
        leave_gate(site);
    }

  private:
    // The compiler must keep the mark before this look; the barrier of Lapwing's thread has the processor
    // keep it.
    [[gnu::always_inline]] static bool must_attend() {
        std::atomic_signal_fence(std::memory_order_seq_cst);
        return Platform::attention().load(std::memory_order_acquire) != 0;
    }

    typename Platform::Record& thread_;
    const void* site_;
    const bool outermost_;
};

}  // namespace lapwing::gate
