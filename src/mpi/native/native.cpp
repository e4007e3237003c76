#include "mpi/native/native.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cstddef>
#include <optional>
#include <string_view>

#include "base/messages.hpp"
#include "mpi/native/callers.hpp"
#include "mpi/native/libraries.hpp"

namespace lapwing {
namespace {

struct Found {
    std::optional<Library> own;
    const Family* other = nullptr;
};

Found look() {
    Found found;
    for (const Library& library : loaded_libraries()) {
        const Family* const family = library.mpi();
        if (family == nullptr) continue;
        if (family->name != LAPWING_PRELOAD_FAMILY)
            found.other = family;
        else if (!found.own)
            found.own = library;
    }
    return found;
}

[[noreturn]] void refuse(const Found& found) {
    if (found.other == nullptr)
        print_message("lapwing: this program loads no MPI library that Lapwing supports (lapwing info)\n");
    else
        print_message(
            "lapwing: this program is linked to {}, but the preload library is the one for {}; start it "
            "with the launcher of its own MPI, or name that MPI by lapwing run --mpi\n",
            found.other->title, find_family(LAPWING_PRELOAD_FAMILY)->title);
    _exit(2);
}

// In a program of another MPI, handles would have another meaning: the process ends before anything runs. A
// program that loads its MPI later is refused at its first call.
__attribute__((constructor)) void refuse_other_mpi() {
    const Found found = look();
    if (!found.own && found.other != nullptr) refuse(found);
}

struct Native {
    Library library;
    void* handle;
};

const Native& native() {
    static const Native opened = [] {
        const Found found = look();
        if (!found.own) refuse(found);
        return Native{*found.own, dlopen(found.own->path(), RTLD_LAZY | RTLD_NOLOAD)};
    }();
    return opened;
}

void print_missing(const char* function) {
    print_message("lapwing: {} lacks {}: this MPI is older than the one for which Lapwing was built\n",
                  native().library.path(), function);
}

// Stands for a function that this MPI lacks. The program cannot see that, since Lapwing has the function.
int missing_function() {
    PMPI_Comm_call_errhandler(MPI_COMM_WORLD, MPI_ERR_UNSUPPORTED_OPERATION);
    return MPI_ERR_UNSUPPORTED_OPERATION;
}

void* next_or_null(const char* name) {
    void* const found = loaders_dlsym()(RTLD_NEXT, name);
    // An MPI that was loaded for a part of the program, as by Python, is not next. A bound tool has called
    // this.
    return found != nullptr && !belongs_to_bound_tool(found)
               ? found
               : find_in_libraries(fmt::format("P{}", name).c_str());
}

}  // namespace

void* find_in_libraries(const char* name) {
    void* const found = native().library.find(name);
    return found != nullptr ? found : loaders_dlsym()(native().handle, name);
}

void* find_native(const char* name) {
    void* const found = find_in_libraries(name);
    if (found == nullptr) {
        print_missing(name);
        _exit(2);
    }
    return found;
}

void* find_next(const char* name) {
    if (void* const found = next_or_null(name)) return found;
    const std::string_view text = name;
    const std::size_t end = text.find('_');
    const char* const other = text.substr(0, end) == "MPIX" ? "MPI" : "MPIX";
    if (void* const found = next_or_null(fmt::format("{}{}", other, text.substr(end)).c_str())) return found;
    print_missing(name);
    return reinterpret_cast<void*>(missing_function);
}

std::string file_before(const char* name) {
    void* const function = loaders_dlsym()(RTLD_DEFAULT, name);
    Dl_info found{};
    if (self().contains(function) || dladdr(function, &found) == 0 || belongs_to_bound_tool(function, name))
        return "";
    return found.dli_fname;
}

void* find_native_variable(const char* name) {
    void* const found = loaders_dlsym()(RTLD_DEFAULT, name);
    return found != nullptr ? found : find_native(name);
}

}  // namespace lapwing
