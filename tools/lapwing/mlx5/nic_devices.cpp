#include "lapwing/mlx5/nic_devices.hpp"

#include <fmt/format.h>

#include "base/error.hpp"
#include "engines/mlx5/devx.hpp"
#include "links/rdma_devices.hpp"

namespace lapwing::tool {

Nics open_nics(const std::string& name) {
    Nics nics;
    for (const std::string& found : infiniband_devices()) {
        if (!found.starts_with("mlx5") || (!name.empty() && name != found)) continue;
        try {
            nics.devices.push_back(mlx5::open_devx(found));
        } catch (const Error& error) {
            nics.none += fmt::format("{}{}: {}", nics.none.empty() ? "" : "; ", found, error.what());
        }
    }
    if (nics.devices.empty() && nics.none.empty())
        nics.none = name.empty() ? "Linux lists no mlx5 device here"
                                 : fmt::format("Linux lists no mlx5 device {}", name);
    return nics;
}

}  // namespace lapwing::tool
