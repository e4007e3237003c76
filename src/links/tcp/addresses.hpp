// Selects the addresses of this host for a job, and the order in which those of a peer are tried.
#pragma once

#include <sys/socket.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "links/tcp/address.hpp"
#include "links/tcp/options.hpp"

namespace lapwing::tcp {

// An address of an interface of this host.
struct Interface {
    std::string name;
    IpAddress ip{};
    bool running = true;  // it has a carrier
};

// The addresses of interfaces that are up, without IPv6 link-local ones, in the system's order. Throws Error
// (system).
std::vector<Interface> interfaces();

// The addresses that `options` asks for, best first. Throws Error (invalid_argument) that lists the
// interfaces if none fits.
std::vector<IpAddress> choose(const Options& options, const std::vector<Interface>& present);

// The addresses of `peer` in the order in which `self` tries them, without those that cannot lead to `peer`.
std::vector<IpAddress> routes(const Address& self, const Address& peer);

// The names of the interfaces that `options` asks for: "eth0, ib0"; "loopback" if there is no other. Throws
// as choose().
std::string describe_interfaces(const Options& options);

bool same_address(const IpAddress& one, const IpAddress& other);
bool same_network(const IpAddress& one, const IpAddress& other);

// Empty for another family than IPv4 and IPv6. Without the prefix.
std::optional<IpAddress> ip_of(const sockaddr& address);
// Of "10.77.0.3", "10.77.0.3/24", "fd00::3/64"; empty for anything else.
std::optional<IpAddress> read_ip(const std::string& written);
// "10.77.0.0/24"
std::string network_of(const IpAddress& ip);
// "10.77.0.3", "fd00::3"
std::string text(const IpAddress& ip);
// "10.77.0.3:4000", "[fd00::3]:4000"
std::string text(const sockaddr_storage& address);
// Fills `address`; returns its size for connect() and bind().
socklen_t socket_address(const IpAddress& ip, std::uint16_t port, sockaddr_storage& address);

// Equal for processes of one kernel, until it boots again, and network namespace.
std::uint64_t host_number();
std::string host_name();
// Equal for processes of one host to which process IDs mean the same; 0: unknown.
std::uint64_t process_space();

}  // namespace lapwing::tcp
