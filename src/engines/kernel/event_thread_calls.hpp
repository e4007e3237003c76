// Calls of the event thread into a group's part of the kernel engine: when connections change, when the ring
// has completions, or on request. The event thread may outlive the group: no call comes after the end of
// this.
#pragma once

#include <functional>
#include <memory>
#include <mutex>

#include "links/connections.hpp"

namespace lapwing::kernel {

class EventThreadCalls {
  public:
    // `call` must be able to run as soon as this is made. `ring` is a descriptor.
    EventThreadCalls(Connections& connections, int ring, std::function<void()> call);
    // Waits for a call that is going on.
    ~EventThreadCalls();
    EventThreadCalls(const EventThreadCalls&) = delete;
    EventThreadCalls& operator=(const EventThreadCalls&) = delete;

    // Asks for a call soon.
    void request();
    // Asks for a call whenever the ring is readable, until forget_ring().
    void watch_ring();
    void forget_ring();
    bool watches_ring() const { return watches_ring_; }

  private:
    // Outlives this object where the event thread still has it.
    struct Target {
        std::mutex mutex;
        std::function<void()> call;  // empty when the group is gone
        void run() {
            const std::lock_guard lock(mutex);
            if (call) call();
        }
    };

    Connections& connections_;
    const int ring_;
    const std::shared_ptr<Target> target_;
    bool watches_ring_ = false;
};

}  // namespace lapwing::kernel
