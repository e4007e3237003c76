// Cards of this host with RDMA, as Linux lists them.
#pragma once

#include <string>
#include <vector>

namespace lapwing {

// "mlx5_0": InfiniBand, RoCE, EFA and Omni-Path.
std::vector<std::string> infiniband_devices();
// "cxi0"
std::vector<std::string> slingshot_devices();

}  // namespace lapwing
