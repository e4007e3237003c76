// A thread that advances lists while the program computes, by the messages of shared memory, of a fabric, or
// of both. It sleeps until a rank of this host rings or the fabric signals a completion. It also sleeps while
// a thread of the program polls in its place.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

#include "engines/wait_strategy.hpp"
#include "links/event/wake_pipe.hpp"
#include "links/fabric.hpp"
#include "links/shm/node.hpp"

namespace lapwing {

class ProgressThread {
  public:
    // One run of a list. One thread at a time owns it, and only the owner may advance it.
    class Work {
      public:
        virtual ~Work() = default;
        // `is_short`: overlapping this run gains little. The thread is not woken for it while it is parked.
        explicit Work(bool is_short = false) : short_(is_short) {}
        // How often the thread was woken while this run was in flight. The caller must own the run or have
        // removed it.
        std::uint64_t times_woken() const { return wake_ups_; }
        // As in the constructor. Not while it is registered.
        void set_short(bool is_short) { short_ = is_short; }

      protected:
        enum class Outcome {
            pending,        // waits for messages
            needs_program,  // waits for a thread of the program
            complete,
        };

      private:
        friend ProgressThread;
        // Advances the run as far as possible. Called by the progress thread, which owns the run. Must not
        // throw.
        virtual Outcome advance() = 0;

        bool short_;
        std::atomic<bool> owned_{false};
        std::uint64_t wake_ups_ = 0;
        // Guarded by the mutex of the progress thread:
        std::size_t index_ = 0;  // in works_
        bool complete_ = false;
    };

    enum class Start : std::uint8_t {
        at_once,
        when_needed,  // by ensure_started(); no fabric
    };
    // Shares `node` between threads, so it must be called before links of the node are made. `node` or
    // `fabric` may be null, and both must outlive this object. With a fabric, `pipe` must not be null, and
    // the node must already sleep at it. `processors`: where the thread may run; empty: wherever the process
    // may. Throws Error (system, invalid_argument).
    ProgressThread(shm::ShmNode* node, Fabric* fabric, const WakePipe* pipe,
                   const std::vector<int>& processors, Start start = Start::at_once);
    ~ProgressThread();

    // Starts a thread that starts when needed. Does nothing if it has started. No other thread may use links
    // of the node meanwhile. Throws Error (system, invalid_argument).
    void ensure_started();
    bool started() const { return started_.load(std::memory_order_acquire); }
    // Whether it advances lists of every engine. One that starts when needed has the lists of engines that
    // start it alone, because Link::any_thread() is false.
    bool serves_all() const { return start_ == Start::at_once; }

    // Threads of the program call the functions below, several at once, after the thread has started.

    // Registers `work`, which the caller then owns. The caller must advance it as far as possible and release
    // it. Completions that arrived before this call do not wake the thread.
    void add(Work& work);
    // Returns false if the progress thread owns `work` at the moment.
    bool try_acquire(Work& work) { return !work.owned_.exchange(true, std::memory_order_acquire); }
    // Gives up ownership after advancing `work`. `can_advance`: the caller left some of it to the progress
    // thread.
    void release(Work& work, bool can_advance = false);
    // Removes `work`, which the caller must own.
    void remove(Work& work);

    // Between suspend() and resume() the calling thread polls, and the progress thread sleeps. The calls of
    // several threads nest.
    void suspend();
    void resume();
    // Sleeps until the progress thread has polled or until `limit` passes; returns true for the former. With
    // a fabric, polls that complete no run and leave none to the program do not count. The caller must not
    // have called suspend().
    bool sleep(std::chrono::nanoseconds limit);
    // Returns whether a run is in flight that is not complete.
    bool has_work();

  private:
    using Lock = std::unique_lock<std::mutex>;

    // What the threads of the program need of this one, from the counts below.
    enum class Demand : std::uint8_t {
        suspended,    // nothing: a thread of the program polls
        idle,         // no run is in flight; with a fabric, peers may need answers from this rank
        short_lists,  // the runs in flight are short
        urgent,       // a long run is in flight, or a thread of the program sleeps
        ending,       // the thread must return
    };
    // Whether runs are to be advanced, so that the ranks of this host must ring.
    static bool advances(Demand demand) { return demand == Demand::short_lists || demand == Demand::urgent; }

    void begin();
    void run();
    void end();
    bool must_poll() const;
    bool poll(bool woken);
    bool advance_works(bool woken);
    void count_complete(const Work& work);
    void update_demand(Lock lock);
    bool has_unseen_progress();
    void ring_for_unseen_progress();
    void ring();
    bool sleep_at_fabric(std::chrono::nanoseconds limit);
    bool park();
    bool sleep_at_pipe(int descriptor, std::chrono::nanoseconds limit);

    shm::ShmNode* const node_;
    Fabric* const fabric_;
    const WakePipe* const pipe_;
    const pid_t process_;
    const std::vector<int> processors_;
    const Start start_;
    std::atomic<bool> started_{false};

    std::mutex mutex_;  // guards the members up to demand_, which is read without it
    std::condition_variable polled_;
    std::vector<Work*> works_;
    std::size_t open_ = 0;       // runs that are not complete
    std::size_t open_long_ = 0;  // those of them that are not short
    int sleepers_ = 0;           // threads in sleep()
    int suspenders_ = 0;         // threads between suspend() and resume()
    std::uint64_t polls_ = 0;    // those that end a sleep()
    bool completed_ = false;     // a run that no sleep() has returned for
    bool ending_ = false;
    std::atomic<Demand> demand_{Demand::idle};

    std::atomic<bool> can_advance_{false};  // a thread of the program left a run that can advance
    // A thread of the program has waited, or has started a short run, since this thread last checked.
    std::atomic<bool> program_was_here_{false};
    std::atomic<bool> parked_{false};  // this thread sleeps without the fabric, until it is rung

    // Used by the thread itself:
    bool program_is_here_ = false;  // program_was_here_, when it was last checked
    Backoff retries_{WaitStrategy::shortest_sleep};
    Backoff parking_;
    std::thread thread_;
};

// While a thread of the program polls, it advances all lists by itself, and the progress thread would only be
// in its way.
class ProgressSuspension {
  public:
    // `thread` may be null, then nothing happens.
    explicit ProgressSuspension(ProgressThread* thread) : thread_(thread) {}
    ~ProgressSuspension() { resume(); }
    ProgressSuspension& operator=(ProgressSuspension&&) = delete;

    void suspend() {
        if (thread_ == nullptr || suspended_) return;
        thread_->suspend();
        suspended_ = true;
    }
    // Before the thread of the program sleeps.
    void resume() {
        if (suspended_) thread_->resume();
        suspended_ = false;
    }

  private:
    ProgressThread* const thread_;
    bool suspended_ = false;
};

}  // namespace lapwing
