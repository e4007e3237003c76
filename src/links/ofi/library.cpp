#include "links/ofi/library.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

namespace lapwing::ofi {
namespace {

constexpr const char* soname = "libfabric.so.1";

template <typename Function>
void find(void* handle, const char* symbol, Function*& function) {
    function = reinterpret_cast<Function*>(::dlsym(handle, symbol));
    if (function == nullptr) throw Error(ErrorCode::unsupported, "{} lacks the function {}", soname, symbol);
}

Library load() {
    void* handle = ::dlopen(soname, RTLD_NOW | RTLD_NOLOAD);
    if (handle == nullptr) handle = ::dlopen(soname, RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) {
        const char* reason = ::dlerror();
        throw Error(ErrorCode::unsupported, "libfabric cannot be loaded: {}",
                    reason == nullptr ? soname : reason);
    }
    Library found{};
    find(handle, "fi_getinfo", found.getinfo);
    find(handle, "fi_freeinfo", found.freeinfo);
    find(handle, "fi_dupinfo", found.dupinfo);
    find(handle, "fi_fabric", found.fabric);
    find(handle, "fi_version", found.version);
    find(handle, "fi_strerror", found.strerror);
    const std::uint32_t version = found.version();
    found.name = fmt::format("libfabric {}.{}", FI_MAJOR(version), FI_MINOR(version));
    if (FI_VERSION_LT(version, api_version))
        throw Error(ErrorCode::unsupported, "{} is too old: {}.{} is needed", found.name,
                    FI_MAJOR(api_version), FI_MINOR(api_version));
    // With the third number, which fi_version() does not have.
    char* (*to_text)(const void*, fi_type) = nullptr;
    to_text = reinterpret_cast<decltype(to_text)>(::dlsym(handle, "fi_tostr"));
    if (to_text != nullptr) {
        const char* text = to_text("1", FI_TYPE_VERSION);
        if (text != nullptr && *text >= '0' && *text <= '9') found.name = fmt::format("libfabric {}", text);
    }
    return found;
}

}  // namespace

const Library& library() {
    static const Library loaded = load();
    return loaded;
}

std::string why(long result) {
    return library().strerror(static_cast<int>(result < 0 ? -result : result));
}

}  // namespace lapwing::ofi
