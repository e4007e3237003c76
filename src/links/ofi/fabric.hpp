// The fabric over libfabric's reliable datagrams (FI_EP_RDM): Slingshot (cxi), EFA, Omni-Path (psm3, opx),
// InfiniBand and RoCE (verbs), plain Ethernet (tcp). A message is one tagged message; directed receives
// select its sender.
#pragma once

#include <memory>
#include <string>

#include "links/fabric.hpp"

namespace lapwing {

// `provider`: the one to use, as libfabric or a user names it ("tcp", "verbs;ofi_rxm"); empty: the best that
// can be opened on this host. Throws Error (unsupported) with the reason if there is none, and
// (invalid_argument) for interfaces that do not exist.
std::unique_ptr<Fabric> ofi_fabric(const std::string& provider, const FabricOptions& options);

}  // namespace lapwing
