// Cards of this host that move messages without the processor, as Linux lists them.
#pragma once

#include <string>
#include <vector>

namespace lapwing {

// "mlx5_0": InfiniBand, RoCE, EFA and Omni-Path.
std::vector<std::string> infiniband_devices();
// "cxi0"
std::vector<std::string> slingshot_devices();

}  // namespace lapwing
