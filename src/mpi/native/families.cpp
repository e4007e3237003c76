#include "mpi/native/families.hpp"

#include <algorithm>
#include <cstddef>
#include <iterator>

namespace lapwing {
namespace {

const Family families[] = {
#define LAPWING_MPI_FAMILY(name, title, ...) {#name, title, {__VA_ARGS__}},
#include "base/mpi_families.def"
};

// The name that a library has for the linker; its file may have another name.
std::string_view soname_of(const dl_phdr_info& loaded) {
    const ElfW(Dyn)* entry = nullptr;
    for (std::size_t i = 0; i < loaded.dlpi_phnum; ++i) {
        if (loaded.dlpi_phdr[i].p_type == PT_DYNAMIC)
            entry = reinterpret_cast<const ElfW(Dyn)*>(loaded.dlpi_addr + loaded.dlpi_phdr[i].p_vaddr);
    }
    ElfW(Addr) strings = 0;
    ElfW(Xword) name = 0;
    for (; entry != nullptr && entry->d_tag != DT_NULL; ++entry) {
        if (entry->d_tag == DT_STRTAB) strings = entry->d_un.d_ptr;
        if (entry->d_tag == DT_SONAME) name = entry->d_un.d_val;
    }
    if (strings == 0 || name == 0) return "";
    // Some loaders leave the offset in the file here.
    if (strings < loaded.dlpi_addr) strings += loaded.dlpi_addr;
    return reinterpret_cast<const char*>(strings + name);
}

}  // namespace

const Family* family_of(const dl_phdr_info& loaded) {
    if (std::string_view(loaded.dlpi_name).empty()) return nullptr;  // the program itself
    const std::string_view soname = soname_of(loaded);
    for (const Family& family : families) {
        if (std::ranges::find(family.libraries, soname) != family.libraries.end()) return &family;
    }
    return nullptr;
}

const Family* find_family(std::string_view name) {
    const Family* const found = std::ranges::find(families, name, &Family::name);
    return found != std::end(families) ? found : nullptr;
}

}  // namespace lapwing
