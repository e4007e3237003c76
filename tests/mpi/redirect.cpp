// A tool that changes the calls of all loaded files, as those on GOTCHA do, instead of functions of MPI's
// names: calls of MPI_Wait, which it counts, and of dlsym(), which it looks up behind the caller by the
// handle of a file.
#include <dlfcn.h>
#include <mpi.h>

#include <cstdio>

#include "mpi/native/libraries.hpp"

namespace {

int waits = 0;
decltype(&MPI_Wait) next_wait = nullptr;
lapwing::Dlsym* next_dlsym = nullptr;

int count_wait(MPI_Request* request, MPI_Status* status) {
    ++waits;
    return next_wait(request, status);
}

void* look_up(void* handle, const char* name) noexcept {
    if (handle != RTLD_NEXT) return next_dlsym(handle, name);
    bool behind = false;
    for (const lapwing::Library& library : lapwing::loaded_libraries()) {
        if (behind && library.find(name) != nullptr)
            return next_dlsym(dlopen(library.path(), RTLD_LAZY | RTLD_NOLOAD), name);
        behind = behind || library.contains(__builtin_return_address(0));
    }
    return nullptr;
}

template <typename Function>
void redirect(const char* name, Function*& next, Function* wrapper) {
    for (const lapwing::Library& library : lapwing::loaded_libraries()) {
        if (next == nullptr) next = reinterpret_cast<Function*>(library.find(name));
        library.bind([&](std::string_view called) {
            return called == name ? reinterpret_cast<void*>(wrapper) : nullptr;
        });
    }
}

__attribute__((constructor)) void begin() {
    redirect("dlsym", next_dlsym, look_up);
    redirect("MPI_Wait", next_wait, count_wait);
}

__attribute__((destructor)) void end() {
    std::printf("redirected: %d waits\n", waits);
}

}  // namespace
