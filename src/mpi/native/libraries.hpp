// The loaded files, the program included, as their own tables describe them: look-ups that do not search
// other files, and that no tool can redirect, as GOTCHA redirects dlsym().
#pragma once

#include <elf.h>
#include <link.h>

#include <array>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <string_view>
#include <vector>

namespace lapwing {

struct Family {
    std::string_view name;
    const char* title;
    std::initializer_list<const char*> libraries;
};
// Null if there is none of this name.
const Family* find_family(std::string_view name);

class Library {
  public:
    explicit Library(const dl_phdr_info& loaded);

    // Empty for the program.
    const char* path() const { return path_; }
    // Null if this library is no MPI. Decides by the name that it has for the linker; its file may have
    // another.
    const Family* mpi() const;
    bool is(const Library& other) const { return begin_ == other.begin_; }
    bool contains(const void* address) const;
    // As dlsym() of a handle of this file alone: the default version of a symbol, the function that an
    // indirect one (STT_GNU_IFUNC) resolves to on x86-64. Returns null if this file does not define the name,
    // for variables of threads, or if it has no table of DT_GNU_HASH.
    void* find(std::string_view name) const;
    // Calls for_name(name) for each function that the library refers to, and stores the address that it
    // returns, unless that is null.
    void bind(const std::function<void*(std::string_view)>& for_name) const;

  private:
    // An entry of the dynamic section. The loader may have changed offsets in the file to addresses.
    template <typename Entry>
    const Entry* table(int tag) const {
        const std::uintptr_t value = dynamic_[tag];
        return reinterpret_cast<const Entry*>(value == 0 || value >= base_ ? value : base_ + value);
    }
    void write(std::uintptr_t where, void* function) const;

    std::uintptr_t base_;
    std::uintptr_t begin_ = ~std::uintptr_t{0};
    std::uintptr_t end_ = 0;
    const char* path_;
    std::uintptr_t sealed_begin_ = 0;
    std::uintptr_t sealed_end_ = 0;
    std::array<std::uintptr_t, DT_NUM> dynamic_{};  // by tag, and that of DT_GNU_HASH first; 0: absent
};

// In the order in which they were loaded.
std::vector<Library> loaded_libraries();

// This library.
const Library& self();

// The loader's dlsym(); allocates nothing.
using Dlsym = void*(void* handle, const char* name) noexcept;
Dlsym* loaders_dlsym();

}  // namespace lapwing
