#include "lapwing/doctor/nic_devices.hpp"

#include <algorithm>

#include "links/rdma_devices.hpp"

namespace lapwing::tool {

Nics open_nics(const std::string& name) {
    const std::vector<std::string> all = infiniband_devices();
    const bool there = std::any_of(all.begin(), all.end(), [&](const std::string& one) {
        return one.starts_with("mlx5") && (name.empty() || one == name);
    });
    return {{},
            there          ? "this build cannot open cards"
            : name.empty() ? "Linux lists no mlx5 device here"
                           : "Linux lists no mlx5 device of that name here"};
}

}  // namespace lapwing::tool
