// Sockets as the connections of a job are set up, and what their errors mean.
#pragma once

#include <chrono>
#include <string>

#include "links/tcp/address.hpp"
#include "links/tcp/handshake.hpp"
#include "links/tcp/options.hpp"

namespace lapwing::tcp {

// A descriptor that is closed with its owner.
class Socket {
  public:
    Socket() = default;
    explicit Socket(int descriptor) : descriptor_(descriptor) {}
    Socket(Socket&& other) noexcept : descriptor_(other.release()) {}
    Socket& operator=(Socket&& other) noexcept;
    ~Socket() { reset(); }

    int get() const { return descriptor_; }
    explicit operator bool() const { return descriptor_ >= 0; }
    // Gives the descriptor to the caller.
    int release();
    void reset();

  private:
    int descriptor_ = -1;
};

// Listens on the places, or on all addresses of the families that `options` allows when it names no
// interfaces; all on one `port`, where 0 becomes one of the system's choice. Throws Error (system).
std::vector<Socket> listen_on(const std::vector<IpAddress>& ips, const Options& options, std::uint16_t& port);

// Before it connects: sizes of buffers.
void set_buffers(int descriptor, const Options& options);
// Of an established connection: no delay, and a network or host that is gone shows as ETIMEDOUT.
void set_alive(int descriptor, const Options& options);

// Moves the handshake as far as the socket goes now. Why it ended, or empty: it is done or waits for more.
std::string advance(int descriptor, Handshake& handshake);

// Whether `error` says that this process or system has no room for one more descriptor.
bool out_of_descriptors(int error);
// "no descriptor is free: ..." with what to raise.
std::string told(int error);

}  // namespace lapwing::tcp
