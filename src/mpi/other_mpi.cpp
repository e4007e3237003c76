// A preload library in a program of the other MPI would hand that MPI's handles to its own: ends the program
// with a message before anything runs.
#include <link.h>
#include <mpi.h>
#include <unistd.h>

#include <cstdio>
#include <string_view>

namespace {

#ifdef OPEN_MPI
constexpr const char* own_name = "Open MPI";
constexpr const char* other_name = "MPICH";
constexpr std::string_view other_libraries[] = {"libmpich.so.", "libmpi.so.12"};
#else
constexpr const char* own_name = "MPICH";
constexpr const char* other_name = "Open MPI";
constexpr std::string_view other_libraries[] = {"libmpi.so.40", "libmpi.so.20"};
#endif

int is_other(dl_phdr_info* loaded, std::size_t, void*) {
    std::string_view name = loaded->dlpi_name;
    name = name.substr(name.rfind('/') + 1);
    for (const std::string_view library : other_libraries) {
        if (name.starts_with(library)) return 1;
    }
    return 0;
}

__attribute__((constructor)) void refuse_other_mpi() {
    if (dl_iterate_phdr(is_other, nullptr) == 0) return;
    std::fprintf(
        stderr,
        "lapwing: this program is linked to %s, but the preload library is the one for %s; start it with the "
        "launcher of its own MPI, or name that MPI by lapwing run --mpi\n",
        other_name, own_name);
    _exit(2);
}

}  // namespace
