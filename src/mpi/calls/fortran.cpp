// Fortran handles of communicators.
#include <link.h>
#include <mpi.h>

#include <atomic>

#include "mpi/native/callers.hpp"

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
