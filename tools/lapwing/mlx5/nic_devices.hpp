// The cards that `lapwing doctor --nic` examines.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engines/mlx5/device.hpp"

namespace lapwing::tool {

struct Nics {
    std::vector<std::unique_ptr<mlx5::Device>> devices;
    std::string none;  // why there are none
};

// All cards of this host, or the one of that name. A test build of the tool has another nic_devices.cpp, with
// doubles of cards (tests/tools/nic_devices.cpp).
Nics open_nics(const std::string& name);

}  // namespace lapwing::tool
