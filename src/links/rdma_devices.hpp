// Cards of this host with RDMA, as Linux lists them.
#pragma once

#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

namespace lapwing {

inline std::vector<std::string> names_in(const char* directory) {
    std::vector<std::string> names;
    std::error_code none;
    for (const auto& entry : std::filesystem::directory_iterator(directory, none))
        names.push_back(entry.path().filename().string());
    return names;
}

// "mlx5_0": InfiniBand, RoCE, EFA and Omni-Path.
inline std::vector<std::string> infiniband_devices() {
    return names_in("/sys/class/infiniband");
}
// "cxi0"
inline std::vector<std::string> slingshot_devices() {
    return names_in("/sys/class/cxi");
}

}  // namespace lapwing
