// libfabric, loaded at run time: the copy that the process has loaded already, because two copies of a
// library that watches memory would disturb each other; otherwise the system's. Most of libfabric's interface
// is inline functions over tables of the provider; these are the functions that need a symbol.
#pragma once

#include <rdma/fabric.h>

#include <memory>
#include <string>

#include "base/error.hpp"

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

// Loads it at the first call; it stays loaded. Throws Error (unsupported).
const Library& library();

// The requested version of the interface, whatever the headers offer, so that old libraries serve, too.
constexpr std::uint32_t api_version = FI_VERSION(1, 9);

// "Connection refused": the text of an error number, negative or not.
std::string why(long result);

// libfabric's objects, closed when their owner ends.
struct Close {
    template <typename Object>
    void operator()(Object* object) const {
        ::fi_close(&object->fid);
    }
};
template <typename Object>
using Open = std::unique_ptr<Object, Close>;

// Throws Error (unsupported) with the reason, unless `result` is 0.
inline void check(long result, const char* function) {
    if (result != 0) throw Error(ErrorCode::unsupported, "{}: {}", function, why(result));
}

// Calls `function` with the address of a pointer to the object that it opens.
template <typename Object, typename Function>
Open<Object> open(const char* name, Function&& function) {
    Object* object = nullptr;
    check(function(&object), name);
    return Open<Object>(object);
}

}  // namespace lapwing::ofi
