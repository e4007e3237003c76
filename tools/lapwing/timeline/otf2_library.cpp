#include "lapwing/timeline/otf2_library.hpp"

#ifdef LAPWING_OTF2

#include <dlfcn.h>
#include <fmt/format.h>

#include "base/error.hpp"

namespace lapwing::tool {
namespace {

// As Score-P builds it, and as Debian calls it.
constexpr const char* sonames[] = {"libotf2.so.10", "libopen-trace-format2.so.10"};

Otf2Library load() {
    void* handle = nullptr;
    const char* soname = nullptr;
    for (const char* name : sonames) {
        if (handle != nullptr) break;
        soname = name;
        handle = ::dlopen(name, RTLD_NOW | RTLD_LOCAL);
    }
    if (handle == nullptr) {
        throw Error(
            ErrorCode::unsupported,
            fmt::format("an OTF2 archive needs the library {}, which cannot be loaded: install OTF2 3.0 or "
                        "later (Debian: otf2-tools), or load the module of Score-P or OTF2; without the "
                        "ending .otf2 the timeline is a file for Perfetto",
                        sonames[0]));
    }
    Otf2Library found;
    const auto find = [&](auto& function, const char* symbol) {
        function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(::dlsym(handle, symbol));
        if (function == nullptr) {
            throw Error(ErrorCode::unsupported,
                        fmt::format("{} lacks the function {}: OTF2 3.0 or later is needed", soname, symbol));
        }
    };
#define LAPWING_WITH(function) find(found.function, "OTF2_" #function);
    LAPWING_OTF2_FUNCTIONS(LAPWING_WITH)
#undef LAPWING_WITH
    return found;
}

}  // namespace

const Otf2Library& otf2_library() {
    static const Otf2Library library = load();
    return library;
}

}  // namespace lapwing::tool

#endif
