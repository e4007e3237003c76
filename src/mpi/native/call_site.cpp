#include "mpi/native/call_site.hpp"

#include <link.h>
#include <unwind.h>

#include <algorithm>
#include <string_view>

namespace lapwing {
namespace {

constexpr int max_frames = 32;
constexpr int site_bits = 48;  // of an address of a program
constexpr std::uint64_t site_mask = (std::uint64_t{1} << site_bits) - 1;

bool is_mpi(std::string_view path) {
    const std::string_view name = path.substr(path.rfind('/') + 1);
    return name.starts_with("libmpi") || name.starts_with("libopen-") || name.starts_with("liblapwing");
}

// dladdr() would search the symbols of the file: 56 us in PETSc's.
bool is_in_mpi(const void* code) {
    struct Search {
        std::uintptr_t code;
        bool in_mpi;
    } search{reinterpret_cast<std::uintptr_t>(code), false};
    dl_iterate_phdr(
        [](dl_phdr_info* file, std::size_t, void* data) -> int {
            Search& asked = *static_cast<Search*>(data);
            const bool has = std::any_of(
                file->dlpi_phdr, file->dlpi_phdr + file->dlpi_phnum, [&](const ElfW(Phdr) & part) {
                    return part.p_type == PT_LOAD &&
                           asked.code - (file->dlpi_addr + part.p_vaddr) < part.p_memsz;
                });
            if (has) asked.in_mpi = is_mpi(file->dlpi_name);
            return has;
        },
        &search);
    return search.in_mpi;
}

struct Caller {
    const void* site = nullptr;
    const void* const* end = nullptr;  // of the part of the stack that holds this address
};

// The first caller outside of the MPI's own libraries; the site itself, without an end, if that is in the
// program or there is no such caller.
Caller first_caller_outside(const void* site) {
    struct Search {
        Caller found;
        bool in_mpi = false;
        int frames = 0;
    } search{{site}};
    if (!is_in_mpi(site)) return search.found;
    _Unwind_Backtrace(
        [](_Unwind_Context* context, void* data) {
            Search& found = *static_cast<Search*>(data);
            const auto* const address = reinterpret_cast<const void*>(_Unwind_GetIP(context));
            const bool mpi = is_in_mpi(address);
            if (found.in_mpi && !mpi) {
                found.found = {address, reinterpret_cast<const void* const*>(_Unwind_GetCFA(context))};
                return _URC_END_OF_STACK;
            }
            found.in_mpi = found.in_mpi || mpi;
            return ++found.frames < max_frames ? _URC_NO_REASON : _URC_END_OF_STACK;
        },
        &search);
    return search.found;
}

// In words from `frame` to the address on the stack; 0: the site is in the program, or nothing was found.
std::uint64_t distance(const void* site, const void* frame) {
    const Caller caller = first_caller_outside(site);
    const auto* const words = static_cast<const void* const*>(frame);
    std::uint64_t found = 0;
    for (std::uint64_t i = 0; words + i < caller.end && i < std::uint64_t{1} << (64 - site_bits); ++i) {
        if (words[i] == caller.site) found = i;
    }
    return found;
}

}  // namespace

const void* call_site_in_program(const void* site) {
    return first_caller_outside(site).site;
}

const void* CallSites::in_program(const void* site, const void* frame) {
    const std::uint64_t key = reinterpret_cast<std::uintptr_t>(site) & site_mask;
    std::atomic<std::uint64_t>& known = known_.find(key);
    std::uint64_t entry = known.load(std::memory_order_relaxed);
    if ((entry & site_mask) != key) {  // unknown, or of a site that shares this entry
        entry = key | distance(site, frame) << site_bits;
        known.store(entry, std::memory_order_relaxed);
    }
    const std::uint64_t words = entry >> site_bits;
    return words == 0 ? site : static_cast<const void* const*>(frame)[words];
}

}  // namespace lapwing
