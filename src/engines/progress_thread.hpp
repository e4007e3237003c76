// A thread beside the program that takes lists forward while the program computes, by the messages of a
// node of shared memory. It is asleep until a rank of the host rings, and while a thread of the program is
// about to look by itself.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

#include "links/shm/node.hpp"

namespace lapwing {

class ProgressThread {
  public:
    // What it moves: one run of a list. Held by one thread at a time, which alone may move it.
    class Work {
      public:
        virtual ~Work() = default;

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

        std::atomic<bool> held_{false};
        std::size_t place_ = 0;  // among all
        std::atomic<Moved> moved_{Moved::on};
    };

    // Shares the node, which outlives it; before links are made. `processors`: those that the thread may
    // use; empty: all that the process may. Throws Error (system, invalid_argument).
    ProgressThread(shm::ShmNode& node, const std::vector<int>& processors);
    ~ProgressThread();
    ProgressThread(const ProgressThread&) = delete;
    ProgressThread& operator=(const ProgressThread&) = delete;

    // All of these by threads of the program.

    // The progress thread shall move it, until it is removed. The caller holds it, moves it as far as it
    // goes, and lets it go: what has come for it before then is nobody's news.
    void add(Work& work);
    // False: the progress thread has it just now.
    bool hold(Work& work) { return !work.held_.exchange(true, std::memory_order_acquire); }
    // After it has been moved in vain.
    void let_go(Work& work);
    // Who removes it holds it.
    void remove(Work& work);

    // A thread that waits moves all by itself: the progress thread sleeps from take_over() to hand_back().
    void take_over();
    void hand_back();
    // Sleeps until the progress thread has looked, or until the limit: true when it has. By a thread that has
    // not taken over.
    bool sleep(std::chrono::nanoseconds limit);

  private:
    using Lock = std::unique_lock<std::mutex>;

    void run();
    bool move_works();
    void set_doorbell(Lock lock);
    void look();

    shm::ShmNode& node_;
    const pid_t process_;
    std::mutex mutex_;
    std::condition_variable round_done_;
    std::vector<Work*> works_;
    std::size_t open_ = 0;  // of them, that are not done
    int sleepers_ = 0;
    int takers_ = 0;
    std::uint64_t rounds_ = 0;
    std::atomic<bool> listens_{false};
    std::atomic<bool> ending_{false};
    std::thread thread_;
};

}  // namespace lapwing
