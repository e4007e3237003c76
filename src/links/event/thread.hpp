// Lapwing's own threads, and the program's signals while Lapwing makes threads and opens libraries of
// networks.
#pragma once

#include <signal.h>

#include <cstddef>
#include <functional>
#include <iterator>
#include <thread>
#include <vector>

namespace lapwing {

// Runs `work` on a thread that receives no signals of the program. Throws Error (system).
std::thread start_thread(std::function<void()> work);

// For a thread that sleeps most of the time and runs briefly when it is woken: it does not wait for the end
// of another thread's time slice. Has an effect on Linux 6.12 and later.
void take_short_slices();

// The processors that the thread may use from now on; empty: all of the process. Throws Error
// (invalid_argument).
void place_thread(std::thread& thread, const std::vector<int>& processors);

// Libraries of networks install handlers of fault signals when they are loaded. This restores the program's.
class KeptSignals {
  public:
    KeptSignals() {
        for (std::size_t i = 0; i < std::size(signals); ++i) ::sigaction(signals[i], nullptr, &kept_[i]);
    }
    ~KeptSignals() {
        for (std::size_t i = 0; i < std::size(signals); ++i) ::sigaction(signals[i], &kept_[i], nullptr);
    }
    KeptSignals& operator=(KeptSignals&&) = delete;

  private:
    static constexpr int signals[] = {SIGILL, SIGSEGV, SIGBUS, SIGFPE, SIGABRT};
    struct sigaction kept_[std::size(signals)]{};
};

// Threads that are made meanwhile inherit the mask and receive no signals of the program.
class BlockedSignals {
  public:
    BlockedSignals() {
        sigset_t all;
        ::sigfillset(&all);
        ::pthread_sigmask(SIG_SETMASK, &all, &before_);
    }
    ~BlockedSignals() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
    BlockedSignals& operator=(BlockedSignals&&) = delete;

  private:
    sigset_t before_;
};

}  // namespace lapwing
