// The fabric over libfabric's reliable datagrams (FI_EP_RDM): Slingshot (cxi), EFA, Omni-Path (psm3, opx),
// InfiniBand and RoCE (verbs), plain Ethernet (tcp). One endpoint, a message is one tagged message, its
// sender is known by directed receives.
#pragma once

#include <memory>
#include <string>

#include "links/fabric.hpp"

namespace lapwing {

// `provider`: the one to use, as libfabric or a user names it ("tcp", "verbs;ofi_rxm"); empty: the best of
// this host that can be opened. Throws Error (unsupported) with the reason why there is none, and
// (invalid_argument) for interfaces that are not here.
std::unique_ptr<Fabric> ofi_fabric(const std::string& provider, const FabricOptions& options);

}  // namespace lapwing
