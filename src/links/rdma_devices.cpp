#include "links/rdma_devices.hpp"

#include <filesystem>
#include <system_error>

namespace lapwing {
namespace {

std::vector<std::string> entries_of(const char* directory) {
    std::vector<std::string> names;
    std::error_code none;
    for (const auto& entry : std::filesystem::directory_iterator(directory, none))
        names.push_back(entry.path().filename().string());
    return names;
}

}  // namespace

std::vector<std::string> infiniband_devices() {
    return entries_of("/sys/class/infiniband");
}

std::vector<std::string> slingshot_devices() {
    return entries_of("/sys/class/cxi");
}

}  // namespace lapwing
