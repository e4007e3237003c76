// Sets up the sockets of a job's connections, explains their errors, and counts descriptors.
#pragma once

#include <cstdint>
#include <string>

#include "base/descriptor.hpp"
#include "links/tcp/address.hpp"
#include "links/tcp/handshake.hpp"
#include "links/tcp/options.hpp"

namespace lapwing::tcp {

using Socket = Descriptor;

// A nonblocking socket for a connection. Empty on an error; errno has the reason.
Socket make_socket(int family);

// Listens on `ips`, or on all addresses of the families that `options` allows if it names no interfaces; all
// on one `port`; 0 is replaced by a port of the system's choice. Throws Error (system).
std::vector<Socket> listen_on(const std::vector<IpAddress>& ips, const Options& options, std::uint16_t& port);

// Before connect(): sets sizes of buffers.
void set_buffers(int descriptor, const Options& options);
// After connect(): no delay of short messages; ETIMEDOUT if the network or host is cut off.
void set_alive(int descriptor, const Options& options);

// Why a connection has ended. The system tells a timeout to one reader or writer only: for the others, whose
// `error` is ECONNRESET or EPIPE, the peer seems to have closed it.
int reason_of_end(int descriptor, int error);

// Advances the handshake without waiting. Returns why it has ended; empty if it is done or waits for more.
std::string advance(int descriptor, Handshake& handshake);

// Whether `error` means that this process or system has no descriptor or memory for a connection.
bool out_of_descriptors(int error);
// "no descriptor is free: ..." with what to raise.
std::string describe_error(int error);

// Descriptors that connections leave free, for the program, the MPI and the engine's gates.
inline constexpr std::uint64_t reserved_descriptors = 48;

// How many more descriptors this process may open before its limit (RLIMIT_NOFILE).
std::uint64_t free_descriptors();
// Raises the limit by that many, or as far as the system permits; returns by how many.
std::uint64_t raise_descriptor_limit(std::uint64_t by);
// Raises the limit for `wanted` free descriptors, or as far as the system permits; returns
// free_descriptors().
std::uint64_t make_room_for_descriptors(std::uint64_t wanted);

}  // namespace lapwing::tcp
