// UCX and libfabric, as they are on this host. They are loaded into a process of their own, which a broken
// library may crash or hang.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "lapwing/doctor/check.hpp"

namespace lapwing::tool {

// In that process: loads "ucx" or "libfabric" and prints JSON: path, version, devices as "rc_mlx5/mlx5_0:1"
// (transport and device) or "verbs;ofi_rxm/mlx5_0" (provider and domain). The exit status.
int describe_fabric(const std::string& library);

// Those of a host's facts of ucx and libfabric that register memory with a card.
std::vector<std::string> rdma_devices(const HostReport& host);

}  // namespace lapwing::tool
