// Makes one descriptor readable when any of several sockets and gates is ready. The event thread sleeps on
// it while it advances short lists: for these, a wake-up for each message costs the program less than
// io_uring's operations and their interrupts. Not thread-safe.
#pragma once

#include <unordered_map>

namespace lapwing::kernel {

class SocketWatch {
  public:
    SocketWatch() = default;
    ~SocketWatch();
    SocketWatch(const SocketWatch&) = delete;
    SocketWatch& operator=(const SocketWatch&) = delete;

    // Watches `socket` until it is ready for the first time, to send or to receive. Makes no system call if
    // it is watched already. Throws Error (system).
    void watch(int socket, bool to_send);
    // Stops watching the sockets that have become ready.
    void collect();
    // Must be called before the socket is closed.
    void forget(int socket);
    // Throws Error (system).
    int descriptor();

  private:
    int poller_ = -1;
    // The epoll events for which each known socket is watched; 0: it has become ready.
    std::unordered_map<int, unsigned> watched_;
};

}  // namespace lapwing::kernel
