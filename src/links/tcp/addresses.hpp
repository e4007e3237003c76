// Which addresses of this host a job uses, and in which order those of a peer are tried.
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
    bool running = true;  // a cable is in it
};

// Those that are up, without IPv6 link-local ones, in the system's order. Throws Error (system).
std::vector<Interface> interfaces();

// The places that `options` asks for, the best first. Throws Error (invalid_argument) that lists what there
// is when none fits.
std::vector<IpAddress> choose(const Options& options, const std::vector<Interface>& present);

// The names of their interfaces, for people: "eth0, ib0"; "loopback" where there are no others. Throws as
// choose().
std::string names_of_interfaces(const Options& options);

// The places of `peer` in the order in which `self` tries them; those that cannot be meant are left out.
std::vector<IpAddress> routes(const Address& self, const Address& peer);

bool same_address(const IpAddress& one, const IpAddress& other);
bool same_network(const IpAddress& one, const IpAddress& other);

// Empty for another family than IPv4 and IPv6. Without the prefix.
std::optional<IpAddress> ip_of(const sockaddr& address);
// "10.77.0.3", "fd00::3"
std::string text(const IpAddress& ip);
// "10.77.0.3:4000", "[fd00::3]:4000"
std::string text(const sockaddr_storage& address);
// The size that connect() and bind() want.
socklen_t socket_address(const IpAddress& ip, std::uint16_t port, sockaddr_storage& address);

// Equal for processes of one kernel and one network namespace.
std::uint64_t host_number();
std::string host_name();

}  // namespace lapwing::tcp
