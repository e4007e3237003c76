// A thread of the program waits for requests: by the wait strategy, with what can wake this rank up. Where
// the kernel runs the lists, it sleeps until the kernel completes something; where ranks share memory, until
// one of them rings its doorbell, or until the progress thread has moved something; else it yields.
#pragma once

#include <chrono>
#include <cstddef>

#include "engines/wait_strategy.hpp"

namespace lapwing {

struct Request;

// A rank that only tests keeps the native MPI moving, too: others may wait for a message that it has started.
void after_unsuccessful_test();

class RequestWait {
  public:
    RequestWait() = default;
    RequestWait(const RequestWait&) = delete;
    RequestWait& operator=(const RequestWait&) = delete;
    ~RequestWait() { resume_progress_thread(); }

    // After an unsuccessful look at all of these. Outside of Entry.
    void pause(Request* const* requests, std::size_t count);

  private:
    void suspend_progress_thread();
    void resume_progress_thread();
    void sleep_at_descriptors(Request* const* requests, std::size_t count);
    void sleep_at_doorbell(std::chrono::nanoseconds longest);

    WaitStrategy strategy_;
    bool suspends_ = false;  // the progress thread
};

}  // namespace lapwing
