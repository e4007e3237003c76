#include "watch/source_lines.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <link.h>

#include <cerrno>
#include <cstdint>
#include <string_view>

namespace lapwing::watch {
namespace {

std::string_view file_name(std::string_view path) {
    return path.substr(path.rfind('/') + 1);
}

}  // namespace

std::string SourceLines::before(const void* return_address) {
    if (return_address == nullptr) return "";
    // The return address may belong to the next line.
    const void* const call = static_cast<const char*>(return_address) - 1;
    Dl_info where{};
    link_map* module = nullptr;
    if (dladdr1(call, &where, reinterpret_cast<void**>(&module), RTLD_DL_LINKMAP) == 0)
        return fmt::format("{}", call);
    const std::uint64_t offset = reinterpret_cast<std::uintptr_t>(call) - module->l_addr;
    const bool is_program = *module->l_name == '\0';
    if (!symbols_) symbols_.emplace(loaded_elfutils(), Symbols::DebugFiles::own);
    const Symbol symbol = symbols_->find(is_program ? "/proc/self/exe" : module->l_name, offset);
    if (!symbol.file.empty()) return fmt::format("{}:{}", file_name(symbol.file), symbol.line);
    // An offset for addr2line.
    return fmt::format("{}+{:#x}", is_program ? program_invocation_short_name : file_name(module->l_name),
                       offset);
}

}  // namespace lapwing::watch
