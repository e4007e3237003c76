#include "links/ucx/library.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include "base/error.hpp"
#include "links/event/thread.hpp"

namespace lapwing::ucx {
namespace {

constexpr const char* soname = "libucp.so.0";
// The first with all of the functions: active messages with headers.
constexpr unsigned min_major = 1;
constexpr unsigned min_minor = 10;

void* open_library() {
    if (void* const loaded = ::dlopen(soname, RTLD_NOW | RTLD_NOLOAD)) return loaded;
    const KeptSignals kept;
    return ::dlopen(soname, RTLD_NOW | RTLD_LOCAL);
}

Library find() {
    void* const handle = open_library();
    // glibc names the file and what is wrong with it.
    if (handle == nullptr) throw Error(ErrorCode::system, ::dlerror());
    Library library;
    library.ucp_get_version =
        reinterpret_cast<decltype(&::ucp_get_version)>(::dlsym(handle, "ucp_get_version"));
    if (library.ucp_get_version != nullptr) {
        unsigned major = 0;
        unsigned minor = 0;
        unsigned release = 0;
        library.ucp_get_version(&major, &minor, &release);
        library.version = fmt::format("{}.{}.{}", major, minor, release);
        if (major != min_major || minor < min_minor) {
            throw Error(ErrorCode::system, "UCX is {}, and Lapwing needs {}.{} or a later {}.x",
                        library.version, min_major, min_minor, min_major);
        }
    }
    const char* missing = nullptr;
#define LAPWING_UCX_FUNCTION(function)                                                      \
    library.function = reinterpret_cast<decltype(&::function)>(::dlsym(handle, #function)); \
    if (library.function == nullptr) missing = #function;
    LAPWING_UCX_FUNCTIONS(LAPWING_UCX_FUNCTION)
#undef LAPWING_UCX_FUNCTION
    if (missing != nullptr) throw Error(ErrorCode::system, "{} has no {}", soname, missing);
    return library;
}

}  // namespace

const Library& library() {
    static const Library found = find();
    return found;
}

}  // namespace lapwing::ucx
