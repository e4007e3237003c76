// The bridge, the links and their shapers, made by the programs `ip` and `tc`. All functions throw Error
// (system) with the message of the program and advice.
#pragma once

#include "lapwing/cluster/shape.hpp"

namespace lapwing::tool {

// If `ip` or `tc` is missing, throws Error (system) that names its package.
void require_network_programs(const ClusterShape& shape);

// In the head's network namespace: whether the kernel has netem.
bool kernel_has_netem();

// Called in the relay's network namespace after the links were made: they forward packets and send none of
// their own.
void make_relay_interfaces(const ClusterShape& shape);

// In the head's namespaces: the bridge, and a link into each host's namespaces, which its holder keeps. The
// ends at the bridge have the hosts' names and are shaped towards the hosts.
void make_network(const ClusterShape& shape);

// In a host's namespaces: its end of the link, eth0, with its address, shaped towards the bridge.
void make_host_interface(const ClusterShape& shape, const ClusterHost& host);

}  // namespace lapwing::tool
