// libfabric, bound at run time: the copy that the process has already, because libraries that watch memory
// must not be there twice, or the system's. Most of libfabric's interface is inline functions over tables of
// the provider; these are the functions that need a symbol.
#pragma once

#include <rdma/fabric.h>

#include <string>

namespace lapwing::ofi {

struct Library {
    int (*getinfo)(std::uint32_t, const char*, const char*, std::uint64_t, const fi_info*, fi_info**);
    void (*freeinfo)(fi_info*);
    fi_info* (*dupinfo)(const fi_info*);
    int (*fabric)(fi_fabric_attr*, fid_fabric**, void*);
    std::uint32_t (*version)();
    const char* (*strerror)(int);
    std::string name;  // "libfabric 1.17.0"
};

// Loads it at the first call; it stays. Throws Error (unsupported).
const Library& library();

// What is asked of libfabric's interface, whatever the headers offer: old libraries do, too.
constexpr std::uint32_t api_version = FI_VERSION(1, 9);

// "Connection refused": of what libfabric's functions return, negative or not.
std::string why(long result);

}  // namespace lapwing::ofi
