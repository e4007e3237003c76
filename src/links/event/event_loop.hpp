// A thread that sleeps until a descriptor is ready or work is posted.
#pragma once

#include <chrono>
#include <compare>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

namespace lapwing {

class EventLoop {
  public:
    EventLoop();
    // Ends and joins the thread; work that has not begun is dropped.
    ~EventLoop();

    // The processors that the thread may use from now on; empty: all of the process.
    void place(const std::vector<int>& processors);

    // These functions may be called by any thread, also by work on the event thread. Work must not throw, nor
    // block for long.

    // Runs `work` soon.
    void post(std::function<void()> work) { post_after({}, std::move(work)); }
    // Runs `work` after `delay`.
    struct Timer {
        std::chrono::steady_clock::time_point when{};
        std::uint64_t number = 0;  // 0: none
        auto operator<=>(const Timer&) const = default;
    };
    Timer post_after(std::chrono::milliseconds delay, std::function<void()> work);
    // Drops such work. Does nothing if it has begun.
    void cancel(const Timer& timer);
    // Runs `work(events)` whenever `descriptor` has one of the epoll `events` (EPOLLIN, ...; EPOLLET for
    // edges). A second call for the same descriptor replaces the first.
    void watch(int descriptor, unsigned events, std::function<void(unsigned)> work);
    // When it returns, the work of `descriptor` does not run any more (unless that work itself has called
    // it, or it does not wait). Must be called, and wait, before the descriptor is closed.
    void forget(int descriptor, bool waits = true);

  private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace lapwing
