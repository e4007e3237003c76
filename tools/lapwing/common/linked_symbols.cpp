#include "lapwing/common/linked_symbols.hpp"

#include <cstdlib>

#include "watch/elfutils.hpp"

namespace lapwing::tool {
namespace {

constexpr watch::Elfutils elfutils{
#define LAPWING_ROW(name) &::name,
    LAPWING_ELFUTILS_FUNCTIONS(LAPWING_ROW)
#undef LAPWING_ROW
};

}  // namespace

watch::Symbols linked_symbols() {
    ::unsetenv("DEBUGINFOD_URLS");  // libdw asks servers for files otherwise
    return {&elfutils, watch::Symbols::DebugFiles::separate_too};
}

}  // namespace lapwing::tool
