// Lapwing's thread inside an MPI program: it drives the native MPI's progress, and lists over the MPI's
// messages, while the program computes. It sleeps unless something is in flight that is worth it and the
// program is outside the MPI for long enough; a program that waits at once is left alone. Where the MPI moves
// messages by itself, polls cost more than they give: each place in the program learns which pace costs less.
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
#include "mpi/native/place_table.hpp"
#include "mpi/native/poll_pace.hpp"
#include "mpi/native/progress_mode.hpp"
#include "mpi/native/time_in_calls.hpp"
#include "watch/journal.hpp"

namespace lapwing {

class AsyncProgress {
  public:
    struct Duties : ThreadDuties {
        // Advances all lists; returns how many collectives have completed.
        int (*advance_lists)() = nullptr;
        const Count* lists = nullptr;  // in flight
    };
    // After MPI_Init. `processors`: where the thread may run; empty: where the process may. Throws Error
    // (system, invalid_argument).
    void start(const Duties& duties, const std::vector<int>& processors);
    // Before MPI_Finalize; does nothing without a thread or a second time.
    void stop();

    bool serves_messages() const { return serves_messages_.load(std::memory_order_relaxed); }
    // No more messages from now on: the MPI's progress may call code of the program, which may expect a
    // thread of its own. Returns whether they were served.
    bool leave_messages();
    // Lists advance in this thread only where it is its duty: not because the MPI's progress calls Lapwing.
    bool is_this_thread() const {
        return &watch::Journal::of_thread() == own_record_.load(std::memory_order_relaxed);
    }

    // By the hook, where the MPI waits with lists in flight and must not be entered by its own thread.
    void help();
    void list_started();
    // One more, or one less: large messages that are pending, and windows, whose targets the MPI serves only
    // when it makes progress.
    void add_message(std::uint64_t bytes) {
        all_messages_.fetch_add(1, std::memory_order_relaxed);
        all_bytes_.fetch_add(bytes, std::memory_order_relaxed);
        bytes_.fetch_add(bytes, std::memory_order_relaxed);
        poll_pace_.began(bytes);
        add(messages_, 1);
    }
    void remove_message(std::uint64_t bytes) {
        bytes_.fetch_sub(bytes, std::memory_order_relaxed);
        add(messages_, -1);
    }
    void add_windows(int difference) { add(windows_, difference); }

    // By the gate: a thread of the program leaves the MPI, or is back.
    void left(const void* site);
    void returned();

    struct Statistics {
        std::uint64_t messages = 0;  // that were ever added, and their bytes
        std::uint64_t bytes = 0;
        std::uint64_t polls = 0;
        std::uint64_t moving = 0;                 // polls that moved data
        std::uint64_t processor_nanoseconds = 0;  // of the thread
        std::uint64_t observed_nanoseconds = 0;   // with messages pending and the program outside the MPI
    };
    Statistics statistics() const;

  private:
    // A call that returns to one place in the program with a number of messages pending.
    struct Site {
        std::atomic<std::int8_t> score{1};  // above 0: the program then stays outside for long enough
        std::atomic<std::uint8_t> skipped{0};
    };
    // The same with about so many bytes pending.
    struct Transfer {
        std::atomic<std::uint32_t> episodes{0};
        // Mean cost of an episode at each pace, in nanoseconds: the time in calls after the program was
        // outside, and the thread's processor time. 0: unknown.
        std::atomic<std::uint64_t> fast_cost{0};
        std::atomic<std::uint64_t> slow_cost{0};
        // From this episode on the pace is slow, until two in a row cost more.
        std::atomic<std::uint32_t> next_trial{4};
        std::atomic<std::uint32_t> dear{0};
        std::atomic<std::uint32_t> pause_of_trials{64};  // in episodes
    };
    enum Pace : std::uint8_t { fast, slow };

    void add(std::atomic<int>& count, int difference);
    static Pace choose_pace(const Transfer& transfer);
    void begin_episode(Transfer& transfer);
    void end_episode();
    void observe();
    void work();
    void serve();
    Polled poll(bool with_lists);
    void sleep(std::uint32_t seen, std::chrono::nanoseconds limit);
    PollPace::Work work_in_flight() const;
    void wake();

    Duties duties_;
    std::thread thread_;
    std::atomic<const watch::ThreadRecord*> own_record_{nullptr};
    int process_ = 0;
    std::atomic<bool> serves_messages_{false};
    std::atomic<bool> left_{false};  // no more polls
    std::atomic<bool> ending_{false};
    std::atomic<bool> asked_{false};
    std::atomic<std::uint32_t> wakes_{0};
    std::atomic<bool> asleep_{false};
    std::atomic<int> messages_{0};
    std::atomic<std::uint64_t> bytes_{0};  // of these
    std::atomic<int> windows_{0};
    std::atomic<std::uint64_t> left_at_{0};  // 0: the program is inside, or not observed
    std::atomic<Site*> left_from_{nullptr};
    CallSites call_sites_;
    PlaceTable<Site> sites_;
    PlaceTable<Transfer> transfers_;
    // From the first time that the program leaves the MPI for long until no message is pending.
    std::atomic<Transfer*> episode_{nullptr};
    std::atomic<Pace> pace_{fast};  // of this episode, or of the last one
    TimeInCalls in_calls_;
    std::atomic<std::uint64_t> spent_before_{0};
    std::atomic<bool> pauses_{false};  // the thread wakes up by itself
    clockid_t clock_{};                // of the thread's processor time
    PollPace poll_pace_;
    PollMeter meter_;           // of polls
    PollMeter meter_of_lists_;  // that advance beside polls
    std::atomic<std::uint64_t> all_messages_{0};
    std::atomic<std::uint64_t> all_bytes_{0};
    std::atomic<std::uint64_t> polls_{0};
    std::atomic<std::uint64_t> moving_{0};
    std::atomic<std::uint64_t> spent_{0};
    std::atomic<std::uint64_t> observed_{0};
    // The MPI's progress reduces: accumulates of other ranks, and reductions that are left to the MPI.
    ProgramFloatingPoint floating_point_;
};
// Never destroyed: a program may exit without MPI_Finalize.
extern AsyncProgress& async_progress;

}  // namespace lapwing
