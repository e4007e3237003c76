#include "mpi/native/callers.hpp"

#include <dlfcn.h>
#include <mpi.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <set>
#include <string_view>

#include "device/memory.hpp"
#include "mpi/native/libraries.hpp"

namespace lapwing {
namespace {

#ifdef OPEN_MPI
constexpr std::string_view fortran_libraries[] = {"libmpi_mpifh.so", "libmpi_usempif08.so"};
#else
constexpr std::string_view fortran_libraries[] = {"libmpichfort.so", "libmpifort.so"};
#endif

bool is_fortran(const Library& library) {
    const std::string_view path = library.path();
    const std::string_view file = path.substr(path.rfind('/') + 1);
    return std::ranges::any_of(fortran_libraries, [&](auto name) { return file.starts_with(name); });
}

bool refers_to_pmpi(const Library& library) {
    bool refers = false;
    library.bind([&](std::string_view name) -> void* {
        refers = refers || name.starts_with("PMPI");
        return nullptr;
    });
    return refers;
}

void* own_function_of(std::string_view pmpi_name) {
    return pmpi_name.starts_with("PMPI") ? self().find(pmpi_name.substr(1)) : nullptr;
}

// A library, or the program itself, that has MPI functions of its own.
struct Tool {
    Library library;
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
    return loaders_dlsym()(handle, name);
}

// Functions that tools wrap: each tool has one of these at least.
constexpr const char* wrapped_functions[] = {
    "MPI_Init", "MPI_Init_thread", "MPI_Wait", "MPI_Waitall", "MPI_Comm_dup",
#define LAPWING_COLLECTIVE(name, mpi_name, also, traits) mpi_name,
#include "task/collectives.def"
};

void bind_tool(const Library& library) {
    Tool tool{library};
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
bool bind_program(const std::vector<Library>& libraries, const Library& tool) {
    const auto references = [&](bool binds) {
        bool starts = false;
        for (const Library& library : libraries) {
            if (library.mpi() != nullptr || library.is(tool) || library.is(self())) continue;
            library.bind([&](std::string_view name) -> void* {
                if (!name.starts_with("MPI") && !name.starts_with("mpi_init")) return nullptr;
                void* const wrapper = tool.find(name);
                if (wrapper == nullptr) return nullptr;
                starts = starts || name.starts_with("MPI_Init") || name.starts_with("mpi_init");
                return binds && self().find(name) != nullptr ? wrapper : nullptr;
            });
        }
        return starts;
    };
    return references(false) && references(true);
}

void bind_tools(const std::vector<Library>& libraries) {
    // Each function is that of the first file before Lapwing, and of the first one behind.
    std::set<const Library*> before;
    std::set<const Library*> behind;
    for (const char* name : wrapped_functions) {
        std::set<const Library*>* side = &before;
        bool found = false;
        for (const Library& library : libraries) {
            if (library.is(self())) {
                side = &behind;
                found = false;
            } else if (!found && library.find(name) != nullptr) {
                side->insert(&library);
                found = true;
            }
        }
    }
    for (const Library& library : libraries) {
        if (library.mpi() != nullptr) continue;
        if (before.contains(&library) ||
            (behind.contains(&library) && refers_to_pmpi(library) && bind_program(libraries, library)))
            bind_tool(library);
    }
}

// Runs before MPI_Init, which a Fortran program calls in a Fortran library.
__attribute__((constructor)) void begin() {
    bind_fortran();
    bind_tools(loaded_libraries());
}

// Where the compiler makes a tail call of dlsym() below.
#if (defined(__x86_64__) || defined(__aarch64__)) && defined(__OPTIMIZE__) && !defined(LAPWING_SANITIZED)
#define LAPWING_REPLACES_DLSYM

bool is_own_mpi(const Library& library) {
    return library.mpi() != nullptr && library.mpi()->name == LAPWING_PRELOAD_FAMILY;
}

// Returns Lapwing's function in place of the MPI's, or null to leave the look-up to the loader. Looks only at
// names of MPI functions, and only for a handle of a library.
[[gnu::noinline]] void* look_up_for_program(void* handle, const char* name) {
    if (handle == RTLD_NEXT || handle == RTLD_DEFAULT || std::strncmp(name, "MPI", 3) != 0) return nullptr;
    const void* const found = loaders_dlsym()(handle, name);
    // A tool behind Lapwing may look up the function that it wraps: Lapwing's would call the tool again.
    const void* const next = loaders_dlsym()(RTLD_NEXT, name);
    void* ours = nullptr;
    for (const Library& library : loaded_libraries()) {
        if (library.contains(found) && is_own_mpi(library) && (next == nullptr || library.contains(next)))
            ours = self().find(name);
    }
    dlerror();  // forgets errors of the look-ups here
    return ours;
}
#endif

}  // namespace

void bind_fortran() {
    for (const Library& library : loaded_libraries()) {
        if (is_fortran(library)) library.bind(own_function_of);
    }
}

std::vector<std::string> bound_tools() {
    std::vector<std::string> files;
    for (const Tool& tool : all_bound())
        files.emplace_back(*tool.library.path() != '\0' ? tool.library.path() : "the program");
    return files;
}

void* find_own(const char* name) {
    return self().find(name);
}

bool belongs_to_bound_tool(const void* function, const char* name) {
    return std::ranges::any_of(all_bound(), [&](const Tool& tool) {
        return tool.library.contains(function) &&
               (name == nullptr || tool.asks_loader || tool.bound.contains(std::string_view(name)));
    });
}

}  // namespace lapwing

#ifdef LAPWING_REPLACES_DLSYM
// A program may open its MPI at run time and look up functions by that handle, as Python's ctypes does. The
// loader finds the calling library by the return address, which the tail call leaves as it is.
extern "C" __attribute__((visibility("default"))) void* dlsym(void* handle, const char* name) noexcept {
    if (void* const ours = lapwing::look_up_for_program(handle, name)) return ours;
    return lapwing::loaders_dlsym()(handle, name);
}
#endif

#ifdef OPEN_MPI

// The program hands a communicator to Fortran, perhaps to a library that it has loaded since MPI_Init. The
// Fortran library calls this function, too: there is something to do only when one has been loaded.
extern "C" __attribute__((visibility("default"))) MPI_Fint MPI_Comm_c2f(MPI_Comm communicator) {
    static std::atomic<unsigned long long> known{0};
    const unsigned long long loaded = lapwing::device::loaded_libraries();
    if (known.exchange(loaded) != loaded) lapwing::bind_fortran();
    return PMPI_Comm_c2f(communicator);
}

#endif
