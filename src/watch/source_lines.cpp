#include "watch/source_lines.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <link.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <string_view>

#if __has_include(<elfutils/libdwfl.h>)
#include <elfutils/libdwfl.h>
#define LAPWING_HAS_ELFUTILS 1
#endif

namespace lapwing::watch {
namespace {

std::string_view file_name(std::string_view path) {
    return path.substr(path.rfind('/') + 1);
}

// "solver+0x1a2b": an offset for addr2line.
std::string in_module(const void* address) {
    Dl_info where{};
    link_map* module = nullptr;
    if (dladdr1(address, &where, reinterpret_cast<void**>(&module), RTLD_DL_LINKMAP) == 0)
        return fmt::format("{}", address);
    const std::string_view name =
        *module->l_name == '\0' ? program_invocation_short_name : file_name(module->l_name);
    return fmt::format("{}+{:#x}", name, reinterpret_cast<std::uintptr_t>(address) - module->l_addr);
}

}  // namespace

#ifdef LAPWING_HAS_ELFUTILS

namespace {

// The functions of libdw; not linked, because a preload library must load where elfutils is not installed.
struct Library {
#define LAPWING_DWFL(name) decltype(&::name) name = nullptr;
#define LAPWING_DWFL_FUNCTIONS           \
    LAPWING_DWFL(dwfl_begin)             \
    LAPWING_DWFL(dwfl_end)               \
    LAPWING_DWFL(dwfl_linux_proc_report) \
    LAPWING_DWFL(dwfl_report_end)        \
    LAPWING_DWFL(dwfl_addrmodule)        \
    LAPWING_DWFL(dwfl_module_getsrc)     \
    LAPWING_DWFL(dwfl_lineinfo)          \
    LAPWING_DWFL(dwfl_linux_proc_find_elf)
    LAPWING_DWFL_FUNCTIONS
#undef LAPWING_DWFL
    bool complete = false;
};

const Library& library() {
    static const Library found = [] {
        Library dw;
        void* const opened = dlopen("libdw.so.1", RTLD_LAZY | RTLD_LOCAL);
        if (opened == nullptr) return dw;
        dw.complete = true;
#define LAPWING_DWFL(name)                                               \
    dw.name = reinterpret_cast<decltype(dw.name)>(dlsym(opened, #name)); \
    dw.complete = dw.complete && dw.name != nullptr;
        LAPWING_DWFL_FUNCTIONS
#undef LAPWING_DWFL
        return dw;
    }();
    return found;
}

// Debug information comes from the module itself: nothing is asked for over the network, and no other
// directory is searched, because that takes seconds for some modules.
int no_other_file(Dwfl_Module*, void**, const char*, Dwarf_Addr, const char*, const char*, GElf_Word,
                  char**) {
    return -1;
}

}  // namespace

struct SourceLines::Session {
    Dwfl_Callbacks callbacks{};
    Dwfl* session = nullptr;

    Session() {
        const Library& dw = library();
        if (!dw.complete) return;
        callbacks.find_elf = dw.dwfl_linux_proc_find_elf;
        callbacks.find_debuginfo = no_other_file;
        session = dw.dwfl_begin(&callbacks);
        if (session == nullptr) return;
        dw.dwfl_linux_proc_report(session, ::getpid());
        dw.dwfl_report_end(session, nullptr, nullptr);
    }
    ~Session() {
        if (session != nullptr) library().dwfl_end(session);
    }
    Session(const Session&) = delete;
    Session& operator=(const Session&) = delete;

    std::string line_at(const void* address) const {
        if (session == nullptr) return "";
        const Library& dw = library();
        const auto at = static_cast<Dwarf_Addr>(reinterpret_cast<std::uintptr_t>(address));
        Dwfl_Module* const module = dw.dwfl_addrmodule(session, at);
        if (module == nullptr) return "";
        Dwfl_Line* const line = dw.dwfl_module_getsrc(module, at);
        if (line == nullptr) return "";
        int number = 0;
        const char* const file = dw.dwfl_lineinfo(line, nullptr, &number, nullptr, nullptr, nullptr);
        return file == nullptr ? "" : fmt::format("{}:{}", file_name(file), number);
    }
};

#else

struct SourceLines::Session {
    std::string line_at(const void*) const { return ""; }
};

#endif

SourceLines::SourceLines() = default;
SourceLines::~SourceLines() = default;

std::string SourceLines::before(const void* return_address) {
    if (return_address == nullptr) return "";
    // The return address may belong to the next line.
    const void* const call = static_cast<const char*>(return_address) - 1;
    if (session_ == nullptr) session_ = std::make_unique<Session>();
    std::string line = session_->line_at(call);
    return line.empty() ? in_module(call) : line;
}

}  // namespace lapwing::watch
