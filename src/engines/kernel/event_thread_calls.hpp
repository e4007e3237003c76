// Lets the event thread call into a group of the kernel engine: when connections change, when the ring has
// completions, or on request. The event thread may outlive the group. No call comes after the destructor.
#pragma once

#include <functional>
#include <memory>
#include <mutex>

#include "links/connections.hpp"

namespace lapwing::kernel {

class EventThreadCalls {
  public:
    // `call` may run before the constructor returns. `ring` is a descriptor.
    EventThreadCalls(Connections& connections, int ring, std::function<void()> call);
    // Waits for a call in progress.
    ~EventThreadCalls();
    EventThreadCalls(const EventThreadCalls&) = delete;
    EventThreadCalls& operator=(const EventThreadCalls&) = delete;

    // Requests one call.
    void request();
    // Requests a call whenever the ring is readable, until forget_ring().
    void watch_ring();
    void forget_ring();
    bool watches_ring() const { return watches_ring_; }
    // Requests a call whenever `sockets` is readable, from now on. Throws Error (system).
    void watch_sockets(int sockets);

  private:
    // The event thread may use it after this object is gone.
    struct Target {
        std::mutex mutex;
        std::function<void()> call;  // empty after the destructor
        void run() {
            const std::lock_guard lock(mutex);
            if (call) call();
        }
    };

    Connections& connections_;
    const int ring_;
    const std::shared_ptr<Target> target_;
    bool watches_ring_ = false;
    int sockets_ = -1;
};

}  // namespace lapwing::kernel
