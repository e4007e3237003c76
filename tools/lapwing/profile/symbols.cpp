#include "lapwing/profile/symbols.hpp"

#include <cxxabi.h>
#include <elfutils/libdwfl.h>
#include <unistd.h>

#include <cstdlib>
#include <map>

namespace lapwing::tool {

// One session for each module: all are reported at the place where their file says, and may overlap.
struct Symbols::State {
    struct Module {
        Dwfl* session = nullptr;
        Dwfl_Module* module = nullptr;
        Dwarf_Addr bias = 0;
    };
    std::map<std::string, Module> modules;

    Module& open(const std::string& path) {
        const auto [found, added] = modules.try_emplace(path);
        Module& module = found->second;
        if (!added) return module;
        static const Dwfl_Callbacks callbacks = {dwfl_build_id_find_elf, dwfl_standard_find_debuginfo,
                                                 dwfl_offline_section_address, nullptr};
        module.session = dwfl_begin(&callbacks);
        if (module.session == nullptr) return module;
        dwfl_report_begin(module.session);
        module.module = dwfl_report_elf(module.session, path.c_str(), path.c_str(), -1, 0, false);
        dwfl_report_end(module.session, nullptr, nullptr);
        if (module.module != nullptr && dwfl_module_getelf(module.module, &module.bias) == nullptr)
            module.module = nullptr;
        return module;
    }
};

Symbols::Symbols() : state_(std::make_unique<State>()) {
    // Nothing is asked for over the network.
    unsetenv("DEBUGINFOD_URLS");
}

Symbols::~Symbols() {
    for (auto& [path, module] : state_->modules) {
        if (module.session != nullptr) dwfl_end(module.session);
    }
}

Symbol Symbols::find(const std::string& path, std::uint64_t offset) {
    Symbol symbol;
    if (path.empty() || access(path.c_str(), R_OK) != 0) return symbol;
    const State::Module& module = state_->open(path);
    if (module.module == nullptr) return symbol;
    const Dwarf_Addr address = offset + module.bias;
    if (const char* name = dwfl_module_addrname(module.module, address)) {
        int status = 0;
        char* const plain = abi::__cxa_demangle(name, nullptr, nullptr, &status);
        symbol.function = plain != nullptr ? plain : name;
        std::free(plain);
    }
    if (Dwfl_Line* line = dwfl_module_getsrc(module.module, address)) {
        int number = 0;
        const char* const file = dwfl_lineinfo(line, nullptr, &number, nullptr, nullptr, nullptr);
        if (file != nullptr) {
            symbol.file = file;
            symbol.line = number;
        }
    }
    return symbol;
}

}  // namespace lapwing::tool
