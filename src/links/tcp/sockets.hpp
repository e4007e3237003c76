// Sets up the sockets of a job's connections, and explains their errors.
#pragma once

#include <chrono>
#include <string>

#include "links/tcp/address.hpp"
#include "links/tcp/handshake.hpp"
#include "links/tcp/options.hpp"

namespace lapwing::tcp {

// Owns a descriptor.
class Socket {
  public:
    Socket() = default;
    explicit Socket(int descriptor) : descriptor_(descriptor) {}
    Socket(Socket&& other) noexcept : descriptor_(other.release()) {}
    Socket& operator=(Socket&& other) noexcept;
    ~Socket() { reset(); }

    int get() const { return descriptor_; }
    explicit operator bool() const { return descriptor_ >= 0; }
    // The caller owns the descriptor from now on.
    int release();
    void reset();

  private:
    int descriptor_ = -1;
};

// A nonblocking socket for a connection to another host: of Multipath TCP if `options` want rails, else, or
// if this kernel has none, of TCP. Empty on an error; errno has the reason.
Socket make_socket(int family, const Options& options);

// Listens on `ips`, or on all addresses of the families that `options` allows if it names no interfaces; all
// on one `port`; 0 is replaced by a port of the system's choice. Throws Error (system).
std::vector<Socket> listen_on(const std::vector<IpAddress>& ips, const Options& options, std::uint16_t& port);

// Before connect(): sets sizes of buffers; those of Multipath TCP are four times as large.
void set_buffers(int descriptor, const Options& options);
// After connect(): no delay of short messages; ETIMEDOUT if the network or host is cut off.
void set_alive(int descriptor, const Options& options);

// Advances the handshake without waiting. Returns why it has ended; empty if it is done or waits for more.
std::string advance(int descriptor, Handshake& handshake);

// Whether `error` means that this process or system has no descriptor or memory for a connection.
bool out_of_descriptors(int error);
// "no descriptor is free: ..." with what to raise.
std::string describe_error(int error);

}  // namespace lapwing::tcp
