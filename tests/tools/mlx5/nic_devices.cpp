// Cards for a test build of the tool: doubles, as TEST_NIC says: "seed=3 strict no_cross_channel
// fault=2", or "none".
#include "lapwing/mlx5/nic_devices.hpp"

#include <cstdlib>
#include <sstream>

#include "engines/mlx5/doubles/device.hpp"

namespace lapwing::tool {

Nics open_nics(const std::string& name) {
    mlx5_double::Rules rules;
    const char* const demands = std::getenv("TEST_NIC");
    std::istringstream words(demands == nullptr ? "" : demands);
    for (std::string word; words >> word;) {
        const std::size_t is = word.find('=');
        const unsigned long value = is == std::string::npos ? 0 : std::stoul(word.substr(is + 1));
        if (word == "none") return {{}, "the double of the host has none"};
        if (word == "strict") rules.strict = true;
        if (word == "no_cross_channel") rules.cross_channel = false;
        if (word.starts_with("seed=")) rules.seed = value;
        if (word.starts_with("fault=")) rules.fault = static_cast<mlx5_double::Fault>(value);
    }
    Nics nics;
    auto device = std::make_unique<mlx5_double::DoubleDevice>(mlx5_double::Network::of_process(1), rules);
    if (name.empty() || name == device->name()) nics.devices.push_back(std::move(device));
    if (nics.devices.empty()) nics.none = "there is no card of that name";
    return nics;
}

}  // namespace lapwing::tool
