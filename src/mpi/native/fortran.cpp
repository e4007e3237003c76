#include "mpi/native/fortran.hpp"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <mpi.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <string_view>
#include <vector>

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
    return static_cast<void>(info), false;  // Fortran is left to the MPI
#endif
}

// This library, for look-ups of its own functions.
class Self {
  public:
    Self() {
        Dl_info here{};
        if (dladdr(reinterpret_cast<void*>(take_fortran), &here) == 0) return;
        base_ = here.dli_fbase;
        handle_ = dlopen(here.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
    }
    ~Self() {
        if (handle_ != nullptr) dlclose(handle_);
    }
    Self(const Self&) = delete;
    Self& operator=(const Self&) = delete;

    // Null if this library does not define it; dlsym() also finds functions of the MPI.
    void* function(const char* name) const {
        void* const found = handle_ == nullptr ? nullptr : dlsym(handle_, name);
        Dl_info where{};
        return found != nullptr && dladdr(found, &where) != 0 && where.dli_fbase == base_ ? found : nullptr;
    }

  private:
    void* base_ = nullptr;
    void* handle_ = nullptr;
};

// A loaded library, as its dynamic section describes it.
class Library {
  public:
    explicit Library(const dl_phdr_info& loaded) : base_(loaded.dlpi_addr) {
        for (int i = 0; i < loaded.dlpi_phnum; ++i) {
            const ElfW(Phdr)& header = loaded.dlpi_phdr[i];
            if (header.p_type == PT_DYNAMIC) {
                read(reinterpret_cast<const ElfW(Dyn)*>(base_ + header.p_vaddr));
            } else if (header.p_type == PT_GNU_RELRO) {
                sealed_begin_ = base_ + header.p_vaddr;
                sealed_end_ = sealed_begin_ + header.p_memsz;
            }
        }
    }

    void bind_to(const Self& self) const {
        if (symbols_ == nullptr || names_ == nullptr) return;
        for (const Table& table : {relocations_, jumps_}) {
            for (std::size_t i = 0; i < table.bytes / sizeof(ElfW(Rela)); ++i) {
                const ElfW(Rela)& relocation = table.first[i];
                if (!holds_function(relocation.r_info)) continue;
                const char* const name = names_ + symbols_[ELF64_R_SYM(relocation.r_info)].st_name;
                if (!std::string_view(name).starts_with("PMPI")) continue;
                if (void* const ours = self.function(name + 1)) write(base_ + relocation.r_offset, ours);
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
    std::uintptr_t sealed_begin_ = 0;
    std::uintptr_t sealed_end_ = 0;
    const ElfW(Sym) * symbols_ = nullptr;
    const char* names_ = nullptr;
    Table relocations_;
    Table jumps_;
};

int collect(dl_phdr_info* loaded, std::size_t, void* libraries) {
    std::string_view name = loaded->dlpi_name;
    name = name.substr(name.rfind('/') + 1);
    for (const std::string_view library : fortran_libraries) {
        if (name.starts_with(library)) static_cast<std::vector<Library>*>(libraries)->emplace_back(*loaded);
    }
    return 0;
}

// Runs before MPI_Init, which a Fortran program calls in a Fortran library.
__attribute__((constructor)) void begin() {
    take_fortran();
}

}  // namespace

void take_fortran() {
    // Binding takes the loader's lock, which must not be taken inside dl_iterate_phdr.
    std::vector<Library> libraries;
    dl_iterate_phdr(collect, &libraries);
    if (libraries.empty()) return;
    const Self self;
    for (const Library& library : libraries) library.bind_to(self);
}

}  // namespace lapwing
