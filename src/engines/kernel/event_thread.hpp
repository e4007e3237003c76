// What the event thread of the connections does for a group of the kernel engine.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "base/descriptor.hpp"
#include "links/connections.hpp"

namespace lapwing::kernel {

// Lets the event thread call into a group: when connections change, when the ring has completions, when
// sockets are ready, or on request. The event thread may outlive the group. No call comes after the
// destructor.
class EventThreadCalls {
  public:
    // `call` may run before the constructor returns. `ring` is a descriptor.
    EventThreadCalls(Connections& connections, int ring, std::function<void()> call);
    // Waits for a call in progress.
    ~EventThreadCalls();

    // Requests one call.
    void request();
    // Requests one call after `delay`, in place of one requested before. Returns false if the process has no
    // descriptor left.
    bool request_after(std::chrono::nanoseconds delay);
    // Drops that request, if it is still to come.
    void drop_request();
    // Requests a call whenever the ring is readable, until forget_ring().
    void watch_ring();
    void forget_ring();
    bool watches_ring() const { return watches_ring_; }

    // While the event thread advances short lists, it sleeps until one of several sockets and gates is ready:
    // for these lists, a wake-up for each message costs the program less than io_uring's operations and their
    // interrupts.

    // Must be called before watch_socket(). Returns false if the process has no descriptor left.
    bool may_watch_sockets();
    // Requests a call when `socket` is ready for the first time, to send or to receive. Makes no system call
    // if it is watched already. Throws Error (system).
    void watch_socket(int socket, bool to_send);
    // Stops watching the sockets that have become ready.
    void collect_ready_sockets();
    // Must be called before the socket is closed.
    void forget_socket(int socket);

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

    bool watch(Descriptor& kept, int descriptor, unsigned events);
    void watch(int descriptor, unsigned events);

    Connections& connections_;
    const int ring_;
    const std::shared_ptr<Target> target_;
    Descriptor timer_;
    bool watches_ring_ = false;
    Descriptor poller_;  // of the sockets
    // The epoll events for which each known socket is watched; 0: it has become ready.
    std::unordered_map<int, unsigned> watched_;
};

}  // namespace lapwing::kernel
