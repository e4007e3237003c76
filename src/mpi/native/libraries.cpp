#include "mpi/native/libraries.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <iterator>

namespace lapwing {
namespace {

constinit const Family families[] = {
#define LAPWING_MPI_FAMILY(name, title, ...) {#name, title, {__VA_ARGS__}},
#include "base/mpi_families.def"
};

// In place of tags that no file has, or that say nothing.
constexpr int gnu_hash = DT_NULL;
constexpr int versions = DT_DEBUG;

constexpr std::uint16_t hidden_version = 0x8000;

const void* const in_self = &in_self;

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

void* address_of(std::uintptr_t base, const ElfW(Sym) & symbol) {
    if (symbol.st_shndx == SHN_ABS) base = 0;
    void* const address = reinterpret_cast<void*>(base + symbol.st_value);
    switch (ELF64_ST_TYPE(symbol.st_info)) {
        case STT_GNU_IFUNC:
#if defined(__x86_64__)
            return reinterpret_cast<void* (*)()>(address)();
#else
            return nullptr;  // its resolver takes arguments
#endif
        case STT_TLS:
            return nullptr;
        default:
            return address;
    }
}

// Calls visit(library) for each file until it returns true. It must not call the loader, which holds a lock.
template <typename Visit>
void visit_libraries(Visit visit) {
    dl_iterate_phdr([](dl_phdr_info* loaded, std::size_t,
                       void* data) -> int { return (*static_cast<Visit*>(data))(Library(*loaded)); },
                    &visit);
}

}  // namespace

Library::Library(const dl_phdr_info& loaded) : base_(loaded.dlpi_addr), path_(loaded.dlpi_name) {
    for (int i = 0; i < loaded.dlpi_phnum; ++i) {
        const ElfW(Phdr)& header = loaded.dlpi_phdr[i];
        const std::uintptr_t begin = base_ + header.p_vaddr;
        if (header.p_type == PT_LOAD) {
            begin_ = std::min(begin_, begin);
            end_ = std::max(end_, begin + header.p_memsz);
        } else if (header.p_type == PT_GNU_RELRO) {
            sealed_begin_ = begin;
            sealed_end_ = begin + header.p_memsz;
        } else if (header.p_type == PT_DYNAMIC) {
            for (auto* entry = reinterpret_cast<const ElfW(Dyn)*>(begin); entry->d_tag != DT_NULL; ++entry) {
                const auto tag = entry->d_tag == DT_GNU_HASH ? gnu_hash
                                 : entry->d_tag == DT_VERSYM ? versions
                                                             : entry->d_tag;
                if (tag < DT_NUM && entry->d_tag != DT_DEBUG)
                    dynamic_[static_cast<std::size_t>(tag)] = entry->d_un.d_ptr;
            }
        }
    }
}

const Family* find_family(std::string_view name) {
    const Family* const found = std::ranges::find(families, name, &Family::name);
    return found != std::end(families) ? found : nullptr;
}

const Family* Library::mpi() const {
    if (*path_ == '\0' || dynamic_[DT_SONAME] == 0) return nullptr;
    const std::string_view soname = table<char>(DT_STRTAB) + dynamic_[DT_SONAME];
    const Family* const found = std::ranges::find_if(
        families, [&](const Family& family) { return std::ranges::count(family.libraries, soname) > 0; });
    return found != std::end(families) ? found : nullptr;
}

bool Library::contains(const void* address) const {
    const auto place = reinterpret_cast<std::uintptr_t>(address);
    return begin_ <= place && place < end_;
}

void* Library::find(std::string_view name) const {
    const auto* const header = table<std::uint32_t>(gnu_hash);
    if (header == nullptr) return nullptr;
    constexpr std::uint32_t width = __ELF_NATIVE_CLASS;
    const auto* const filter = reinterpret_cast<const ElfW(Addr)*>(header + 4);
    const auto* const buckets = reinterpret_cast<const std::uint32_t*>(filter + header[2]);
    const std::uint32_t* const hashes = buckets + header[0] - header[1];
    std::uint32_t hash = 5381;
    for (const char letter : name) hash = hash * 33 + static_cast<unsigned char>(letter);
    const ElfW(Addr) bits = filter[hash / width % header[2]];
    if (((bits >> (hash % width)) & (bits >> ((hash >> header[3]) % width)) & 1) == 0) return nullptr;
    const auto* const version_of = table<std::uint16_t>(versions);
    std::uint32_t i = buckets[hash % header[0]];
    for (bool more = i != 0; more; more = (hashes[i++] & 1) == 0) {
        const ElfW(Sym)& symbol = table<ElfW(Sym)>(DT_SYMTAB)[i];
        if ((hashes[i] | 1) == (hash | 1) && symbol.st_shndx != SHN_UNDEF &&
            name == table<char>(DT_STRTAB) + symbol.st_name &&
            (version_of == nullptr || (version_of[i] & hidden_version) == 0))
            return address_of(base_, symbol);
    }
    return nullptr;
}

void Library::bind(const std::function<void*(std::string_view)>& for_name) const {
    const auto bind_all = [&](int tag, int bytes) {
        const auto* const all = table<ElfW(Rela)>(tag);
        for (std::size_t i = 0; i < dynamic_[static_cast<std::size_t>(bytes)] / sizeof(ElfW(Rela)); ++i) {
            if (!holds_function(all[i].r_info)) continue;
            const ElfW(Sym)& symbol = table<ElfW(Sym)>(DT_SYMTAB)[ELF64_R_SYM(all[i].r_info)];
            if (void* const function = for_name(table<char>(DT_STRTAB) + symbol.st_name))
                write(base_ + all[i].r_offset, function);
        }
    };
    bind_all(DT_RELA, DT_RELASZ);
    if (dynamic_[DT_PLTREL] == DT_RELA) bind_all(DT_JMPREL, DT_PLTRELSZ);
}

void Library::write(std::uintptr_t where, void* function) const {
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

std::vector<Library> loaded_libraries() {
    std::vector<Library> all;
    visit_libraries([&](const Library& library) {
        all.push_back(library);
        return false;
    });
    return all;
}

const Library& self() {
    static const Library found = [] {
        const std::vector<Library> all = loaded_libraries();
        return *std::ranges::find_if(all, [](const Library& any) { return any.contains(in_self); });
    }();
    return found;
}

Dlsym* loaders_dlsym() {
    static Dlsym* const found = [] {
        void* next = nullptr;
        bool behind = false;
        visit_libraries([&](const Library& library) {
            if (behind) next = library.find("dlsym");
            behind = behind || library.contains(in_self);
            return next != nullptr;
        });
        return reinterpret_cast<Dlsym*>(next);
    }();
    return found;
}

}  // namespace lapwing
