#include "device/memory.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <link.h>

#include <array>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"

namespace lapwing::device {

// Never destroyed, because a program may exit while another thread still uses it.
Memory& memory = *new Memory;

namespace {

struct Kind {
    std::string_view library;  // the beginning of the file name
    std::unique_ptr<Driver> (*make)(void*);
};
constexpr std::array kinds = {Kind{"libcuda.so", make_cuda_driver}, Kind{"libamdhip64.so", make_hip_driver}};

std::mutex look_mutex;
std::atomic<unsigned long long> libraries_searched{0};  // loaded_libraries() at the last search
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

void throw_failed(const char* function, std::uint64_t bytes, const char* name, const char* meaning) {
    const std::string length = bytes > 0 ? fmt::format(" of {} bytes", bytes) : "";
    throw Error(ErrorCode::system, "{}{}: {} ({})", function, length, name, meaning);
}

unsigned long long loaded_libraries() {
    unsigned long long loaded = 0;
    ::dl_iterate_phdr(
        [](dl_phdr_info* info, std::size_t, void* result) {
            *static_cast<unsigned long long*>(result) = info->dlpi_adds;
            return 1;  // the number is the same for each library
        },
        &loaded);
    return loaded;
}

void look() {
    if (!memory.enabled || libraries_searched.load(std::memory_order_acquire) == loaded_libraries()) return;
    const std::lock_guard lock(look_mutex);
    // A library that another thread loads from now on is not counted, and the next call finds it.
    const unsigned long long libraries = loaded_libraries();
    for (const std::string& file : loaded_files()) {
        const std::string_view name = std::string_view(file).substr(file.rfind('/') + 1);
        for (std::size_t i = 0; i < kinds.size(); ++i) {
            if (!name.starts_with(kinds[i].library) || drivers[i].load() != nullptr) continue;
            // Never closed, because its functions may be called until the process ends.
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
    libraries_searched.store(libraries, std::memory_order_release);
}

Location find(const void* address) {
    for (const auto& driver : drivers) {
        Driver* const loaded = driver.load(std::memory_order_acquire);
        if (loaded == nullptr) continue;
        if (const Location location = loaded->find(address); location.on_device()) return location;
    }
    return {};
}

}  // namespace lapwing::device
