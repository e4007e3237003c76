#include "mpi/native/callers.hpp"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <mpi.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "mpi/native/families.hpp"

namespace lapwing {
namespace {

#ifdef OPEN_MPI
constexpr std::string_view fortran_libraries[] = {"libmpi_mpifh.so", "libmpi_usempif08.so"};
#else
constexpr std::string_view fortran_libraries[] = {"libmpichfort.so", "libmpifort.so"};
#endif

// Relocations whose whole word is the address of a function.
constexpr bool holds_function(std::uint64_t info) {
#if defined(__x86_64__)
    return ELF64_R_TYPE(info) == R_X86_64_JUMP_SLOT || ELF64_R_TYPE(info) == R_X86_64_GLOB_DAT;
#elif defined(__aarch64__)
    return ELF64_R_TYPE(info) == R_AARCH64_JUMP_SLOT || ELF64_R_TYPE(info) == R_AARCH64_GLOB_DAT;
#else
    return static_cast<void>(info), false;  // Fortran and tools are left to the MPI
#endif
}

// Returns null if no file has this function.
const void* base_of(const void* function) {
    Dl_info where{};
    return function != nullptr && dladdr(function, &where) != 0 ? where.dli_fbase : nullptr;
}

// A loaded file and the functions that it defines.
class File {
  public:
    explicit File(const void* inside) {
        Dl_info where{};
        if (inside == nullptr || dladdr(inside, &where) == 0) return;
        base_ = where.dli_fbase;
        handle_ = dlopen(where.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
        // The program itself has no name for the loader.
        if (handle_ == nullptr) handle_ = dlopen(nullptr, RTLD_LAZY);
    }
    ~File() {
        if (handle_ != nullptr) dlclose(handle_);
    }
    File(const File&) = delete;
    File& operator=(const File&) = delete;

    const void* base() const { return base_; }
    // Returns null if this file does not define it; dlsym() also finds functions of libraries that it needs.
    void* function(const char* name) const {
        void* const found = handle_ == nullptr ? nullptr : dlsym(handle_, name);
        return found != nullptr && base_of(found) == base_ ? found : nullptr;
    }

  private:
    void* base_ = nullptr;
    void* handle_ = nullptr;
};

// A loaded library, as its dynamic section describes it.
class Library {
  public:
    explicit Library(const dl_phdr_info& loaded)
        : base_(loaded.dlpi_addr), mpi_(family_of(loaded)), name_(loaded.dlpi_name) {
        for (int i = 0; i < loaded.dlpi_phnum; ++i) {
            const ElfW(Phdr)& header = loaded.dlpi_phdr[i];
            if (header.p_type == PT_LOAD && begin_ == nullptr)
                begin_ = reinterpret_cast<const char*>(base_ + header.p_vaddr - header.p_offset);
            if (header.p_type == PT_DYNAMIC) {
                read(reinterpret_cast<const ElfW(Dyn)*>(base_ + header.p_vaddr));
            } else if (header.p_type == PT_GNU_RELRO) {
                sealed_begin_ = base_ + header.p_vaddr;
                sealed_end_ = sealed_begin_ + header.p_memsz;
            }
        }
    }

    // The address that dladdr() reports for its functions.
    const void* begin() const { return begin_; }
    std::string file() const { return name_.empty() ? "the program" : name_; }
    bool is_mpi() const { return mpi_ != nullptr; }
    bool is_own_mpi() const { return is_mpi() && mpi_->name == LAPWING_PRELOAD_FAMILY; }
    bool is_fortran() const {
        const std::string_view file = std::string_view(name_).substr(name_.rfind('/') + 1);
        return std::ranges::any_of(fortran_libraries, [&](auto name) { return file.starts_with(name); });
    }

    bool refers_to_pmpi() const {
        bool refers = false;
        bind([&](std::string_view name) -> void* {
            refers = refers || name.starts_with("PMPI");
            return nullptr;
        });
        return refers;
    }
    // Calls for_name(name) for each function that the library refers to, and stores the address that it
    // returns, unless that is null.
    template <typename ForName>
    void bind(const ForName& for_name) const {
        if (symbols_ == nullptr || names_ == nullptr) return;
        for (const Table& table : {relocations_, jumps_}) {
            for (std::size_t i = 0; i < table.bytes / sizeof(ElfW(Rela)); ++i) {
                const ElfW(Rela)& relocation = table.first[i];
                if (!holds_function(relocation.r_info)) continue;
                const std::string_view name = names_ + symbols_[ELF64_R_SYM(relocation.r_info)].st_name;
                if (void* const function = for_name(name)) write(base_ + relocation.r_offset, function);
            }
        }
    }

  private:
    struct Table {
        const ElfW(Rela) * first = nullptr;
        std::size_t bytes = 0;
    };

    void read(const ElfW(Dyn) * entry) {
        bool with_addends = false;
        for (; entry->d_tag != DT_NULL; ++entry) {
            // The loader may have changed offsets in the file to addresses.
            const std::uintptr_t value = entry->d_un.d_ptr;
            const std::uintptr_t address = value < base_ ? base_ + value : value;
            switch (entry->d_tag) {
                case DT_SYMTAB:
                    symbols_ = reinterpret_cast<const ElfW(Sym)*>(address);
                    break;
                case DT_STRTAB:
                    names_ = reinterpret_cast<const char*>(address);
                    break;
                case DT_RELA:
                    relocations_.first = reinterpret_cast<const ElfW(Rela)*>(address);
                    break;
                case DT_RELASZ:
                    relocations_.bytes = value;
                    break;
                case DT_JMPREL:
                    jumps_.first = reinterpret_cast<const ElfW(Rela)*>(address);
                    break;
                case DT_PLTRELSZ:
                    jumps_.bytes = value;
                    break;
                case DT_PLTREL:
                    with_addends = value == DT_RELA;
                    break;
                default:
                    break;
            }
        }
        if (!with_addends) jumps_ = {};
    }

    void write(std::uintptr_t where, void* function) const {
        void** const slot = reinterpret_cast<void**>(where);
        if (*slot == function) return;
        if (where < sealed_begin_ || where >= sealed_end_) {
            std::atomic_ref(*slot).store(function);
            return;
        }
        // The loader has made this part read-only.
        const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
        void* const begin = reinterpret_cast<void*>(where & ~(page - 1));
        if (::mprotect(begin, page, PROT_READ | PROT_WRITE) != 0) return;
        std::atomic_ref(*slot).store(function);
        ::mprotect(begin, page, PROT_READ);
    }

    std::uintptr_t base_;
    const void* begin_ = nullptr;
    const Family* mpi_;
    std::string name_;
    std::uintptr_t sealed_begin_ = 0;
    std::uintptr_t sealed_end_ = 0;
    const ElfW(Sym) * symbols_ = nullptr;
    const char* names_ = nullptr;
    Table relocations_;
    Table jumps_;
};

std::vector<Library> loaded_libraries() {
    std::vector<Library> all;
    // Binding takes the loader's lock, which must not be taken inside dl_iterate_phdr.
    dl_iterate_phdr(
        [](dl_phdr_info* loaded, std::size_t, void* result) {
            static_cast<std::vector<Library>*>(result)->emplace_back(*loaded);
            return 0;
        },
        &all);
    return all;
}

const File& self() {
    static const File file(reinterpret_cast<const void*>(bind_fortran));
    return file;
}

void* own_function_of(std::string_view pmpi_name) {
    return pmpi_name.starts_with("PMPI") ? self().function(pmpi_name.data() + 1) : nullptr;
}

// A library, or the program itself, that has MPI functions of its own.
struct Tool {
    std::string file;
    const void* base;
    std::set<std::string, std::less<>> bound = {};  // MPI_X, where its calls of PMPI_X are calls of Lapwing
    bool asks_loader = false;                       // finds functions by dlsym()
};

std::vector<Tool>& all_bound() {
    static std::vector<Tool> tools;
    return tools;
}

// What a tool calls in place of dlsym(): PMPI_X, where it is looked up behind the tool, is Lapwing's MPI_X.
// The loader finds the calling library by the return address, which a tail call leaves as it is. In a build
// without optimization, other names are looked up behind Lapwing, not behind the tool.
void* look_up_for_tool(void* handle, const char* name) {
    if (handle == RTLD_NEXT || handle == RTLD_DEFAULT) {
        if (void* const ours = own_function_of(name)) return ours;
    }
    return dlsym(handle, name);
}

// Functions that tools wrap: each tool has one of these at least.
constexpr const char* wrapped_functions[] = {
    "MPI_Init", "MPI_Init_thread", "MPI_Wait", "MPI_Waitall", "MPI_Comm_dup",
#define LAPWING_COLLECTIVE(name, mpi_name, also, traits) mpi_name,
#include "task/collectives.def"
};

void bind_tool(const Library& library) {
    Tool tool{library.file(), library.begin()};
    library.bind([&](std::string_view name) -> void* {
        if (name == "dlsym") {
            tool.asks_loader = true;
            return reinterpret_cast<void*>(look_up_for_tool);
        }
        void* const ours = own_function_of(name);
        if (ours != nullptr) tool.bound.emplace(name.substr(1));
        return ours;
    });
    all_bound().push_back(std::move(tool));
}

// The program's references to Lapwing's functions become references to those of a tool that stands behind
// Lapwing. Returns false if no library starts MPI by such a reference: as in Python, which loads the library
// that does so later. Then the tool remains behind Lapwing.
bool bind_program(const std::vector<Library>& libraries, const Library& of_tool, const File& tool) {
    const auto references = [&](bool binds) {
        bool starts = false;
        for (const Library& library : libraries) {
            if (library.is_mpi() || library.begin() == of_tool.begin() || library.begin() == self().base())
                continue;
            library.bind([&](std::string_view name) -> void* {
                if (!name.starts_with("MPI") && !name.starts_with("mpi_init")) return nullptr;
                void* const wrapper = tool.function(name.data());
                if (wrapper == nullptr) return nullptr;
                starts = starts || name.starts_with("MPI_Init") || name.starts_with("mpi_init");
                return binds && self().function(name.data()) != nullptr ? wrapper : nullptr;
            });
        }
        return starts;
    };
    return references(false) && references(true);
}

void bind_tools(const std::vector<Library>& libraries) {
    std::set<const void*> before;
    std::set<const void*> behind;
    for (const char* name : wrapped_functions) {
        if (const void* const function = dlsym(RTLD_DEFAULT, name)) before.insert(base_of(function));
        if (const void* const function = dlsym(RTLD_NEXT, name)) behind.insert(base_of(function));
    }
    for (const Library& library : libraries) {
        if (library.is_mpi() || library.begin() == self().base()) continue;
        if (before.contains(library.begin())) {
            bind_tool(library);
        } else if (behind.contains(library.begin())) {
            const File tool(library.begin());
            if (library.refers_to_pmpi() && bind_program(libraries, library, tool)) bind_tool(library);
        }
    }
}

void bind_fortran(const std::vector<Library>& libraries) {
    for (const Library& library : libraries) {
        if (library.is_fortran()) library.bind(own_function_of);
    }
}

// Runs before MPI_Init, which a Fortran program calls in a Fortran library.
__attribute__((constructor)) void begin() {
    const std::vector<Library> libraries = loaded_libraries();
    bind_fortran(libraries);
    bind_tools(libraries);
}

// Where the compiler makes a tail call of dlsym() below.
#if (defined(__x86_64__) || defined(__aarch64__)) && defined(__OPTIMIZE__) && !defined(LAPWING_SANITIZED)
#define LAPWING_REPLACES_DLSYM

void* (*loaders_dlsym)(void*, const char*) noexcept = nullptr;

// Returns Lapwing's function in place of the MPI's, or null to leave the look-up to the loader. Looks only at
// names of MPI functions, and only for a handle of a library.
[[gnu::noinline]] void* look_up_for_program(void* handle, const char* name) {
    if (loaders_dlsym == nullptr) {
        for (const char* version : {"GLIBC_2.2.5", "GLIBC_2.17"}) {
            void* const found = dlvsym(RTLD_NEXT, "dlsym", version);
            if (found != nullptr) loaders_dlsym = reinterpret_cast<decltype(loaders_dlsym)>(found);
        }
    }
    if (handle == RTLD_NEXT || handle == RTLD_DEFAULT || std::strncmp(name, "MPI", 3) != 0) return nullptr;
    const void* const base = base_of(loaders_dlsym(handle, name));
    // A tool behind Lapwing may look up the function that it wraps: Lapwing's would call the tool again.
    const void* const next = base_of(dlsym(RTLD_NEXT, name));
    void* ours = nullptr;
    if (base != nullptr && (next == nullptr || next == base)) {
        for (const Library& library : loaded_libraries()) {
            if (library.begin() == base && library.is_own_mpi()) ours = self().function(name);
        }
    }
    dlerror();  // forgets errors of the look-ups here
    return ours;
}
#endif

}  // namespace

void bind_fortran() {
    bind_fortran(loaded_libraries());
}

std::vector<std::string> bound_tools() {
    std::vector<std::string> files;
    for (const Tool& tool : all_bound()) files.push_back(tool.file);
    return files;
}

bool belongs_to_bound_tool(const void* function) {
    const void* const base = base_of(function);
    return std::ranges::any_of(all_bound(), [&](const Tool& tool) { return tool.base == base; });
}

void* find_own(const char* name) {
    return self().function(name);
}

bool belongs_to_bound_tool(const void* function, const char* name) {
    const void* const base = base_of(function);
    return std::ranges::any_of(all_bound(), [&](const Tool& tool) {
        return tool.base == base && (tool.asks_loader || tool.bound.contains(std::string_view(name)));
    });
}

}  // namespace lapwing

#ifdef LAPWING_REPLACES_DLSYM
// A program may open its MPI at run time and look up functions by that handle, as Python's ctypes does. The
// loader finds the calling library by the return address, which the tail call leaves as it is.
extern "C" __attribute__((visibility("default"))) void* dlsym(void* handle, const char* name) noexcept {
    if (void* const ours = lapwing::look_up_for_program(handle, name)) return ours;
    return lapwing::loaders_dlsym(handle, name);
}
#endif

#ifdef OPEN_MPI

// The program hands a communicator to Fortran, perhaps to a library that it has loaded since MPI_Init. The
// Fortran library calls this function, too: there is something to do only when one has been loaded.
extern "C" __attribute__((visibility("default"))) MPI_Fint MPI_Comm_c2f(MPI_Comm communicator) {
    static std::atomic<unsigned long long> known{0};
    unsigned long long loaded = 0;
    dl_iterate_phdr(
        [](dl_phdr_info* any, std::size_t, void* count) {
            *static_cast<unsigned long long*>(count) = any->dlpi_adds;
            return 1;
        },
        &loaded);
    if (known.exchange(loaded) != loaded) lapwing::bind_fortran();
    return PMPI_Comm_c2f(communicator);
}

#endif
