// A thread beside the program that takes lists forward while the program computes, by the messages of a
// node of shared memory, of a fabric, or of both. It is asleep until a rank of the host rings or the fabric
// has something, and while a thread of the program is about to look by itself.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

#include "links/event/wake_pipe.hpp"
#include "links/fabric.hpp"
#include "links/shm/node.hpp"

namespace lapwing {

class ProgressThread {
  public:
    // What it moves: one run of a list. Held by one thread at a time, which alone may move it.
    class Work {
      public:
        virtual ~Work() = default;
        // `is_short`: it gains little from the thread, which is not woken for it at once when it is parked.
        explicit Work(bool is_short = false) : short_(is_short) {}
        // How often the thread has been woken while this was in flight. By who holds it, or has removed it.
        std::uint64_t times_woken() const { return wake_ups_; }

      protected:
        enum class Moved {
            on,    // as far as it goes now
            held,  // as far as it goes without a thread of the program
            done,
        };

      private:
        friend ProgressThread;
        // By the progress thread, which holds it. Does not throw.
        virtual Moved move() = 0;

        const bool short_;
        std::atomic<bool> held_{false};
        std::size_t place_ = 0;  // among all
        std::uint64_t wake_ups_ = 0;
        std::atomic<Moved> moved_{Moved::on};
    };

    // Shares the node, before links of it are made; both outlive it, and one of them may be null. Where there
    // is a fabric the node has been told to sleep at `pipe`, if there is a node. `processors`: those that the
    // thread may use; empty: all that the process may. Throws Error (system, invalid_argument).
    ProgressThread(shm::ShmNode* node, Fabric* fabric, const WakePipe* pipe,
                   const std::vector<int>& processors);
    // By shared memory alone.
    ProgressThread(shm::ShmNode& node, const std::vector<int>& processors)
        : ProgressThread(&node, nullptr, nullptr, processors) {}
    ~ProgressThread();
    ProgressThread(const ProgressThread&) = delete;
    ProgressThread& operator=(const ProgressThread&) = delete;

    // All of these by threads of the program.

    // The progress thread shall move it, until it is removed. The caller holds it, moves it as far as it
    // goes, and lets it go: what has come for it before then is nobody's news.
    void add(Work& work);
    // False: the progress thread has it just now.
    bool hold(Work& work) { return !work.held_.exchange(true, std::memory_order_acquire); }
    // After it has been moved in vain. `goes_on`: it could be moved now, and that is left to the progress
    // thread.
    void let_go(Work& work, bool goes_on = false);
    // Who removes it holds it.
    void remove(Work& work);

    // A thread that waits moves all by itself: the progress thread sleeps from take_over() to hand_back().
    void take_over();
    void hand_back();
    // Sleeps until the progress thread has looked (where there is a fabric: until it has completed something,
    // or left something to the program), or until the limit: true when it has. By a thread that has not taken
    // over.
    bool sleep(std::chrono::nanoseconds limit);
    // Whether a list is in flight that it has yet to complete.
    bool has_work();

    // How often it has been woken, so far.
    std::uint64_t wake_ups() const { return wake_ups_.load(std::memory_order_relaxed); }

  private:
    using Lock = std::unique_lock<std::mutex>;

    void run();
    bool is_needed() const;
    bool look_once(bool woken);
    bool move_works(bool woken);
    void close(const Work& work);
    void set_doorbell(Lock lock);
    void look();
    bool has_news();
    std::uint32_t rings() const;
    void ring();
    bool sleep_since(std::uint32_t rings, std::chrono::nanoseconds limit);
    bool sleep_in_poll(std::uint32_t rings, std::chrono::nanoseconds limit);

    shm::ShmNode* const node_;
    Fabric* const fabric_;
    const WakePipe* const pipe_;
    const pid_t process_;
    std::mutex mutex_;
    std::condition_variable round_done_;
    std::vector<Work*> works_;
    std::size_t open_ = 0;       // of them, that are not done
    std::size_t open_long_ = 0;  // of these, that are not short
    int sleepers_ = 0;
    int takers_ = 0;
    std::uint64_t rounds_ = 0;
    bool completed_ = false;            // something for those who sleep, since they were last told
    std::atomic<bool> listens_{false};  // lists are in flight that it is to move
    std::atomic<bool> attends_{true};   // to the fabric; lists in flight or not: peers may need this rank
    std::atomic<bool> urgent_{false};   // somebody sleeps, or a list in flight is not short
    std::atomic<bool> parked_{false};   // it sleeps without the fabric
    std::atomic<bool> left_{false};     // a list that could be moved
    std::atomic<std::uint64_t> takeovers_{0};
    std::atomic<bool> ending_{false};
    std::atomic<std::uint32_t> rings_{0};  // where there is no node
    std::atomic<std::uint64_t> wake_ups_{0};
    // Its own:
    std::uint64_t known_takeovers_ = 0;
    bool waits_again_ = false;  // a thread of the program, since it was asleep
    std::chrono::nanoseconds parking_{0};
    std::thread thread_;
};

}  // namespace lapwing
