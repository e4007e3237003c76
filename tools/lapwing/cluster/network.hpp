// The bridge, the links and their shapers, made by the programs `ip` and `tc`. All throw Error (system) with
// the message of these and what to do.
#pragma once

#include "lapwing/cluster/shape.hpp"

namespace lapwing::tool {

// Throws Error (system) that names the package when `ip` or `tc` is missing.
void require_network_programs(const ClusterShape& shape);

// In the head's network namespace: whether the kernel has netem.
bool kernel_has_netem();

// In the relay's network namespace, once the links are there: they carry packets, and nothing of their own.
void make_relay_interfaces(const ClusterShape& shape);

// In the head's namespaces: the bridge, and a link into each host's namespaces, which its holder keeps. The
// ends at the bridge have the hosts' names and are shaped towards the hosts.
void make_network(const ClusterShape& shape);

// In a host's namespaces: its end of the link, eth0, with its address, shaped towards the bridge.
void make_host_interface(const ClusterShape& shape, const ClusterHost& host);

}  // namespace lapwing::tool
