// How a rank waits. At first it only looks again and again, as MPIs do. Then, where the kernel runs the
// lists, it sleeps until the kernel tells of them; where ranks share memory, until one of them rings, or
// until the progress thread, which answers then, has moved something; else it lets others have the processor.
#pragma once

#include <cstddef>
#include <cstdint>

namespace lapwing {

struct Request;

// A rank that only tests keeps the native MPI moving, too: others may wait for a message that it has
// started.
void after_unsuccessful_test();

class WaitStrategy {
  public:
    WaitStrategy() = default;
    WaitStrategy(const WaitStrategy&) = delete;
    WaitStrategy& operator=(const WaitStrategy&) = delete;
    ~WaitStrategy() { hand_back(); }

    // After a look at all of these that was in vain. Outside of Entry.
    void pause(Request* const* requests, std::size_t count);

  private:
    void take_over();
    void hand_back();
    void sleep(Request* const* requests, std::size_t count);
    void sleep_at_bell(long longest);

    bool has_taken_over_ = false;  // from the progress thread
    std::uint64_t looks_ = 0;
    std::uint64_t began_ = 0;  // nanoseconds
    long slice_ = 0;           // nanoseconds of the last sleep
};

}  // namespace lapwing
