// How a thread of the program waits for requests: it polls, yields or sleeps until something can wake it.
#pragma once

#include <chrono>
#include <span>

#include "engines/progress_thread.hpp"
#include "engines/wait_strategy.hpp"

namespace lapwing {

struct Request;

// Advances the native MPI every now and then in a program that only tests: other ranks may wait for a message
// that this rank has started.
void after_unsuccessful_test();

// Records in the journal which requests a call tests. Inside the call's watch::InCall, outside of Entry.
void record_test(std::span<Request* const> requests);

// Where the kernel runs the lists, the thread sleeps until the kernel completes an operation. Where ranks
// share memory, it sleeps until a peer rings the doorbell or the progress thread has advanced a list.
// Otherwise it yields.
class RequestWait {
  public:
    RequestWait();
    RequestWait& operator=(RequestWait&&) = delete;

    // After an unsuccessful test of all these requests. Outside of Entry.
    void pause(std::span<Request* const> requests);

  private:
    void sleep_at_descriptors(std::span<Request* const> requests);
    void sleep_at_doorbell(std::span<Request* const> requests, std::chrono::nanoseconds max);

    WaitStrategy strategy_;
    ProgressSuspension progress_;
};

}  // namespace lapwing
