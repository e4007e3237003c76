// Protects the program's signals while Lapwing makes threads and opens the libraries of networks.
#pragma once

#include <signal.h>

#include <cstddef>
#include <iterator>

namespace lapwing {

// Libraries of networks install handlers of fault signals when they are loaded. This restores the program's.
class KeptSignals {
  public:
    KeptSignals() {
        for (std::size_t i = 0; i < std::size(signals); ++i) ::sigaction(signals[i], nullptr, &kept_[i]);
    }
    ~KeptSignals() {
        for (std::size_t i = 0; i < std::size(signals); ++i) ::sigaction(signals[i], &kept_[i], nullptr);
    }
    KeptSignals(const KeptSignals&) = delete;
    KeptSignals& operator=(const KeptSignals&) = delete;

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
    BlockedSignals(const BlockedSignals&) = delete;
    BlockedSignals& operator=(const BlockedSignals&) = delete;

  private:
    sigset_t before_;
};

}  // namespace lapwing
