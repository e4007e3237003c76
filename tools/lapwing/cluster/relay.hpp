// Delay and loss of links by a process of the cluster, where the kernel has no netem.
#pragma once

#include <functional>
#include <string>

#include "lapwing/cluster/shape.hpp"

namespace lapwing::tool {

// Each link has two interfaces in the relay's network namespace: one to the bridge, one to the host. The
// links are numbered as the hosts, from 0.
std::string relay_interface_to_bridge(std::size_t link);
std::string relay_interface_to_host(std::size_t link);

// Forwards packets: from hosts at once, to hosts after the delay and with the loss. Calls `ready` before the
// first packet, and never returns. Counts for each link, in two 64-bit numbers of relay.counts in the cluster
// directory, packets for its host, and how many of them were lost. Throws Error (system).
[[noreturn]] void relay_packets(const ClusterShape& shape, const std::function<void()>& ready);

}  // namespace lapwing::tool
