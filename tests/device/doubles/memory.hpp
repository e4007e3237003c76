// The memory of a device that does not exist, for the doubles of drivers' libraries.
//
// An allocation has two mappings of one memfd: the address that the program gets, which the processor may
// neither read nor write, and another one, through which the double's copies go. So whoever uses a device's
// pointer as a host pointer faults.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <map>

namespace doubles {

struct Allocation {
    std::uint64_t bytes = 0;  // as asked for; the mappings are whole pages
    std::byte* alias = nullptr;
    void* context = nullptr;
    int device = 0;
    std::uint64_t mapped = 0;
};

class DeviceMemory {
  public:
    // 0 when there is none.
    std::uint64_t allocate(std::uint64_t bytes, void* context, int device) {
        const std::uint64_t page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
        const std::uint64_t mapped = (bytes + page - 1) / page * page;
        const int memory = ::memfd_create("device double", MFD_CLOEXEC);
        if (memory < 0) return 0;
        void* device_address = MAP_FAILED;
        void* alias = MAP_FAILED;
        if (::ftruncate(memory, static_cast<off_t>(mapped)) == 0) {
            device_address = ::mmap(nullptr, mapped, PROT_NONE, MAP_SHARED, memory, 0);
            alias = ::mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);
        }
        ::close(memory);
        if (device_address == MAP_FAILED || alias == MAP_FAILED) return 0;
        const auto address = reinterpret_cast<std::uint64_t>(device_address);
        all_[address] = {bytes, static_cast<std::byte*>(alias), context, device, mapped};
        return address;
    }

    // False when it is not the beginning of an allocation.
    bool free(std::uint64_t address) {
        const auto found = all_.find(address);
        if (found == all_.end()) return false;
        ::munmap(reinterpret_cast<void*>(address), found->second.mapped);
        ::munmap(found->second.alias, found->second.mapped);
        all_.erase(found);
        return true;
    }

    // The allocation that an address is in, with its beginning; null when there is none.
    const Allocation* find(std::uint64_t address, std::uint64_t* begin = nullptr) const {
        auto after = all_.upper_bound(address);
        if (after == all_.begin()) return nullptr;
        --after;
        if (address >= after->first + after->second.bytes) return nullptr;
        if (begin != nullptr) *begin = after->first;
        return &after->second;
    }

    // Where the processor finds a range that lies inside one allocation; null when it does not.
    std::byte* alias(std::uint64_t address, std::uint64_t bytes) const {
        std::uint64_t begin = 0;
        const Allocation* const in = find(address, &begin);
        if (in == nullptr || address - begin + bytes > in->bytes) return nullptr;
        return in->alias + (address - begin);
    }

    bool overlaps(const void* host, std::uint64_t bytes) const {
        const auto begin = reinterpret_cast<std::uint64_t>(host);
        for (const auto& [address, allocation] : all_) {
            if (begin < address + allocation.mapped && address < begin + bytes) return true;
        }
        return false;
    }

  private:
    std::map<std::uint64_t, Allocation> all_;
};

// Host memory that the driver knows: pinned or managed.
class HostRanges {
  public:
    bool add(const void* address, std::uint64_t bytes) {
        if (find(address) || find(static_cast<const std::byte*>(address) + bytes - 1)) return false;
        all_[reinterpret_cast<std::uint64_t>(address)] = bytes;
        return true;
    }
    bool remove(const void* address) { return all_.erase(reinterpret_cast<std::uint64_t>(address)) > 0; }
    bool find(const void* address) const {
        const auto at = reinterpret_cast<std::uint64_t>(address);
        auto after = all_.upper_bound(at);
        return after != all_.begin() && at < (--after)->first + after->second;
    }

  private:
    std::map<std::uint64_t, std::uint64_t> all_;
};

}  // namespace doubles
