#include "device/memory.hpp"

#include <dlfcn.h>
#include <link.h>

#include <array>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace lapwing::device {

// Never destroyed: a program may exit while another thread is still in here.
Memory& memory = *new Memory;

namespace {

struct Kind {
    std::string_view library;  // how the name of its file begins
    std::unique_ptr<Driver> (*make)(void*);
};
constexpr std::array kinds = {Kind{"libcuda.so", make_cuda_driver}, Kind{"libamdhip64.so", make_hip_driver}};

std::mutex look_mutex;
std::array<std::atomic<Driver*>, kinds.size()> drivers{};

std::vector<std::string> loaded_files() {
    std::vector<std::string> files;
    ::dl_iterate_phdr(
        [](dl_phdr_info* info, std::size_t, void* result) {
            if (info->dlpi_name != nullptr)
                static_cast<std::vector<std::string>*>(result)->emplace_back(info->dlpi_name);
            return 0;
        },
        &files);
    return files;
}

}  // namespace

void look_for_drivers() {
    const std::lock_guard lock(look_mutex);
    for (const std::string& file : loaded_files()) {
        const std::string_view name = std::string_view(file).substr(file.rfind('/') + 1);
        for (std::size_t i = 0; i < kinds.size(); ++i) {
            if (!name.starts_with(kinds[i].library) || drivers[i].load() != nullptr) continue;
            // Kept for good: its functions may be called until the process ends.
            void* const library = ::dlopen(file.c_str(), RTLD_LAZY | RTLD_NOLOAD);
            if (library == nullptr) continue;
            if (std::unique_ptr<Driver> driver = kinds[i].make(library); driver != nullptr) {
                drivers[i].store(driver.release(), std::memory_order_release);
                memory.present.store(true, std::memory_order_release);
            } else {
                ::dlclose(library);
            }
        }
    }
}

Place find(const void* address) {
    for (const auto& driver : drivers) {
        Driver* const loaded = driver.load(std::memory_order_acquire);
        if (loaded == nullptr) continue;
        if (const Place place = loaded->find(address); place.on_device()) return place;
    }
    return {};
}

}  // namespace lapwing::device
