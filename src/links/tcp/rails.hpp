// Connections over several interfaces at once, by Multipath TCP (RFC 8684): the kernel divides a connection's
// bytes among its paths by the rate of each, and sends again on the others what a path has lost.
#pragma once

#include <netinet/tcp.h>

#include <string>
#include <vector>

#include "links/tcp/addresses.hpp"
#include "links/tcp/options.hpp"

namespace lapwing::tcp {

// What this kernel, and the administrator of this host, have prepared.
struct MultipathSetup {
    bool supported = false;  // sockets of Multipath TCP can be made, and report their paths
    int announced = 0;       // addresses of this host that a peer is told ("endpoints")
    int accepted = 0;        // addresses of a peer that this host connects to besides the first
};
MultipathSetup multipath_setup();

// Whether connections of this process are to use several interfaces: `options` do not forbid that, `ips` of
// this host (as of choose()) are on two interfaces or more, and the host is prepared.
bool uses_rails(const Options& options, const std::vector<IpAddress>& ips,
                const std::vector<Interface>& present);

// The interfaces of connections: "eth0, ib0", "eth0, eth1 together (Multipath TCP)"; "loopback" if there are
// no others. Throws as choose().
std::string describe_interfaces(const Options& options);

// Whether `descriptor` is a connection of Multipath TCP, also if the peer has none and both use plain TCP.
bool is_multipath(int descriptor);

// One path of a connection.
struct Path {
    IpAddress own;  // family 0: unknown
    tcp_info info;
};
// The paths of a connection: of plain TCP one, without its address. Empty if the kernel does not report them.
std::vector<Path> paths(int descriptor);

// Congestion control for Multipath TCP. BBR, if it is the system's choice, takes a path's pauses for its
// rate: 1 MiB between hosts with two rails then took 1.4 times as long as with CUBIC.
void set_congestion_control(int descriptor);

}  // namespace lapwing::tcp
