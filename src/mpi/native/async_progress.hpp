// Lapwing's thread inside an MPI program: it drives the native MPI's progress, and lists over the MPI's
// messages, while the program computes. It sleeps unless something is in flight that is worth it and the
// program is outside the MPI for long enough (stays.hpp); a program that waits at once is left alone. How
// often it polls: poll_pace.hpp.
#pragma once

#include <time.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>
#include <vector>

#include "base/floating_point.hpp"
#include "mpi/native/call_site.hpp"
#include "mpi/native/entry.hpp"
#include "mpi/native/poll_pace.hpp"
#include "mpi/native/progress_mode.hpp"
#include "mpi/native/request_book.hpp"
#include "mpi/native/stays.hpp"
#include "watch/journal.hpp"

namespace lapwing {

// The program's large messages, and the thread that drives the native MPI for them.
struct MessageCount {
    std::uint64_t messages = 0;
    std::uint64_t bytes = 0;
    std::uint64_t hidden_time = 0;  // nanoseconds with some of them in flight and the program outside MPI
    std::uint64_t polls = 0;
    std::uint64_t moving_polls = 0;  // that moved data
    std::uint64_t thread_time = 0;   // nanoseconds of a processor
};

class AsyncProgress {
  public:
    AsyncProgress();
    // After MPI_Init. `advance_lists` advances all lists and returns how many collectives have completed.
    // `processors`: where the thread may run; empty: where the process may. Throws Error (system,
    // invalid_argument).
    void start(const ThreadDuties& duties, int (*advance_lists)(), const std::vector<int>& processors);
    // Before MPI_Finalize; does nothing without a thread or a second time.
    void stop();

    bool serves_messages() const { return serves_messages_.load(std::memory_order_relaxed); }
    // No more polls from now on: the MPI's progress may call code of the program, which may expect a thread
    // of its own. By a thread of the program inside the MPI, so that none is under way, or after the thread's
    // end. Returns whether messages were served.
    bool leave_messages();
    // Lists advance in this thread only where it is its duty: not because the MPI's progress calls Lapwing.
    bool is_this_thread() const {
        return &watch::Journal::of_thread() == own_record_.load(std::memory_order_relaxed);
    }

    // Whether the gate is closed. By this thread, or by one of the program inside the MPI, which sees false.
    bool polls() const { return polls_; }

    // By the hook, where the MPI waits with lists in flight and must not be entered by its own thread.
    void help();
    void list_started();
    // One more, or one less: large messages, which the book counts already, inside Entry; and windows, whose
    // targets the MPI serves only when it makes progress.
    void add_message(std::uint64_t bytes) {
        ++count_.messages;
        count_.bytes += bytes;
        bytes_.fetch_add(bytes, std::memory_order_relaxed);
        poll_pace_.began(bytes);
        if (request_book.moving() == 1) observe();
    }
    void remove_message(std::uint64_t bytes) {
        bytes_.fetch_sub(bytes, std::memory_order_relaxed);
        if (request_book.moving() > 0) return;
        stays_.end_episode();
        observe();
    }
    void add_windows(int difference) {
        if (difference > 0) poll_pace_.began(0);
        windows_ += difference;
        observe();
    }

    // By the gate: a thread of the program leaves the MPI, or is back.
    void left(const void* site);
    void returned();

    // After stop().
    MessageCount count() const {
        MessageCount all = count_;
        all.hidden_time = stays_.time();
        return all;
    }

  private:
    void observe();
    void work();
    void serve();
    Polled poll(bool with_lists, std::chrono::nanoseconds pause);
    void sleep(std::uint32_t seen, std::chrono::nanoseconds limit);
    void wake();

    ThreadDuties duties_;
    int (*advance_lists_)() = nullptr;
    std::thread thread_;
    std::atomic<const watch::ThreadRecord*> own_record_{nullptr};
    int process_ = 0;
    std::atomic<bool> serves_messages_{false};
    std::atomic<bool> left_{false};  // no more polls
    bool polls_ = false;             // changes behind the closed gate
    std::atomic<bool> ending_{false};
    std::atomic<bool> asked_{false};
    std::atomic<std::uint32_t> wakes_{0};
    std::atomic<bool> asleep_{false};
    std::atomic<std::uint64_t> bytes_{0};  // of the messages
    std::atomic<int> windows_{0};
    CallSites call_sites_;
    Stays stays_;
    std::atomic<bool> pauses_{false};      // the thread wakes up by itself
    std::atomic<bool> polls_soon_{false};  // and then looks for lists
    std::atomic<int> lists_begun_{0};      // since it looked
    clockid_t clock_{};                    // of the thread's processor time
    PollPace poll_pace_;
    PollMeter meter_;           // of polls
    PollMeter meter_of_lists_;  // that advance beside polls
    MessageCount count_;        // without hidden_time
    // The MPI's progress reduces: accumulates of other ranks, and reductions that are left to the MPI.
    ProgramFloatingPoint floating_point_;
};
// Never destroyed: a program may exit without MPI_Finalize.
extern AsyncProgress& async_progress;

}  // namespace lapwing
