// A thread of the program waits for requests: by the wait strategy, with what can wake this rank up. Where
// the kernel runs the lists, it sleeps until the kernel completes something; where ranks share memory, until
// one of them rings its doorbell, or until the progress thread has moved something; else it yields.
#pragma once

#include <chrono>
#include <cstddef>

#include "engines/progress_suspension.hpp"
#include "engines/wait_strategy.hpp"

namespace lapwing {

struct Request;

// A rank that only tests keeps the native MPI moving, too: others may wait for a message that it has started.
void after_unsuccessful_test();

class RequestWait {
  public:
    RequestWait();
    RequestWait(const RequestWait&) = delete;
    RequestWait& operator=(const RequestWait&) = delete;

    // After an unsuccessful look at all of these. Outside of Entry.
    void pause(Request* const* requests, std::size_t count);

  private:
    void sleep_at_descriptors(Request* const* requests, std::size_t count);
    void sleep_at_doorbell(std::chrono::nanoseconds longest);

    WaitStrategy strategy_;
    ProgressSuspension progress_;
};

}  // namespace lapwing
