#include "watch/symbols.hpp"

#include <cxxabi.h>
#include <dlfcn.h>
#include <fmt/format.h>
#include <link.h>

#include <cstdlib>
#include <map>
#include <string_view>

#include "watch/elfutils.hpp"

namespace lapwing::watch {

namespace {

int no_other_file(Dwfl_Module*, void**, const char*, Dwarf_Addr, const char*, const char*, GElf_Word,
                  char**) {
    return -1;
}

std::string_view file_name(std::string_view path) {
    return path.substr(path.rfind('/') + 1);
}

}  // namespace

const Elfutils* loaded_elfutils() {
    static const Elfutils* const found = []() -> const Elfutils* {
        void* const library = dlopen("libdw.so.1", RTLD_LAZY | RTLD_LOCAL);
        if (library == nullptr) return nullptr;
        static Elfutils functions;
        bool complete = true;
#define LAPWING_ROW(name)                                                               \
    functions.name = reinterpret_cast<decltype(functions.name)>(dlsym(library, #name)); \
    complete = complete && functions.name != nullptr;
        LAPWING_ELFUTILS_FUNCTIONS(LAPWING_ROW)
#undef LAPWING_ROW
        return complete ? &functions : nullptr;
    }();
    return found;
}

// One session for each module: all are reported at the place where their file says, and may overlap.
struct Symbols::State {
    struct Module {
        Dwfl* session = nullptr;
        Dwfl_Module* module = nullptr;
        Dwarf_Addr bias = 0;
    };
    const Elfutils* const dw;
    Dwfl_Callbacks callbacks{};
    std::map<std::string, Module> modules;

    explicit State(const Elfutils* functions) : dw(functions) {}

    Module& open(const std::string& path) {
        const auto [found, added] = modules.try_emplace(path);
        Module& module = found->second;
        if (!added) return module;
        module.session = dw->dwfl_begin(&callbacks);
        if (module.session == nullptr) return module;
        dw->dwfl_report_begin(module.session);
        module.module = dw->dwfl_report_elf(module.session, path.c_str(), path.c_str(), -1, 0, false);
        dw->dwfl_report_end(module.session, nullptr, nullptr);
        if (module.module != nullptr && dw->dwfl_module_getelf(module.module, &module.bias) == nullptr)
            module.module = nullptr;
        return module;
    }
};

Symbols::Symbols(const Elfutils* functions, DebugFiles files) : state_(std::make_unique<State>(functions)) {
    if (functions == nullptr) return;
    const bool separate = files == DebugFiles::separate_too;
    state_->callbacks = {functions->dwfl_build_id_find_elf,
                         separate ? functions->dwfl_standard_find_debuginfo : no_other_file,
                         functions->dwfl_offline_section_address, nullptr};
}

Symbols::~Symbols() {
    for (auto& [path, module] : state_->modules) {
        if (module.session != nullptr) state_->dw->dwfl_end(module.session);
    }
}

Symbol Symbols::find(const std::string& path, std::uint64_t offset) {
    Symbol symbol;
    const Elfutils* const dw = state_->dw;
    if (dw == nullptr || path.empty()) return symbol;
    const State::Module& module = state_->open(path);
    if (module.module == nullptr) return symbol;
    const Dwarf_Addr address = offset + module.bias;
    if (const char* const name = dw->dwfl_module_addrname(module.module, address)) {
        // Only C++ names are mangled: "f" alone would be taken for the type float.
        int status = 0;
        const bool mangled = std::string_view(name).starts_with("_Z");
        char* const plain = mangled ? abi::__cxa_demangle(name, nullptr, nullptr, &status) : nullptr;
        symbol.function = plain != nullptr ? plain : name;
        std::free(plain);
    }
    if (Dwfl_Line* const line = dw->dwfl_module_getsrc(module.module, address)) {
        const char* const file = dw->dwfl_lineinfo(line, nullptr, &symbol.line, nullptr, nullptr, nullptr);
        if (file != nullptr) symbol.file = file;
    }
    return symbol;
}

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
