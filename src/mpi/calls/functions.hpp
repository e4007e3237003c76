// Definitions of the functions of collectives that the program calls, for both preload libraries: the one
// that runs lists, and that of `lapwing profile`.
#pragma once

#include <mpi.h>

#include "mpi/calls/exported.hpp"
#include "mpi/calls/signatures.hpp"
#include "mpi/native/native.hpp"
// blocking(), nonblocking() and persistent(): what the library does with a call. The build names the header.
#include LAPWING_TAKES_CALLS

// Lists of arguments are flat: they initialize a call, whose members are structs, and are passed to the MPI.
#ifdef __clang__
#pragma clang diagnostic ignored "-Wmissing-braces"
#endif

#define LAPWING_INIT_FUNCTION(Init, Call, parameters, names)                                             \
    LAPWING_MPI Init(LAPWING_LIST parameters MPI_Comm comm, MPI_Info info, MPI_Request* request) {       \
        LAPWING_ENTERS;                                                                                  \
        return persistent(Call{LAPWING_LIST names}, comm, request, {#Init, __builtin_return_address(0)}, \
                          [&] { return LAPWING_NEXT(Init)(LAPWING_LIST names comm, info, request); });   \
    }

#ifdef OPEN_MPI
#define LAPWING_EXTENSION(Init, Call, parameters, names) LAPWING_INIT_FUNCTION(Init, Call, parameters, names)
#else
#define LAPWING_EXTENSION(Init, Call, parameters, names)
#endif

// The nonblocking, the blocking and the persistent function of a call, with the parameters before the
// communicator, and their names. Both lists in parentheses.
#define LAPWING_FUNCTIONS(Nonblocking, Blocking, suffix, Call, parameters, names)                         \
    LAPWING_MPI MPI_##Nonblocking##suffix(LAPWING_LIST parameters MPI_Comm comm, MPI_Request* request) {  \
        LAPWING_ENTERS;                                                                                   \
        return nonblocking(Call{LAPWING_LIST names}, comm, request,                                       \
                           {"MPI_" #Nonblocking #suffix, __builtin_return_address(0)},                    \
                           [&] { return NEXT_##Nonblocking##suffix(LAPWING_LIST names comm, request); }); \
    }                                                                                                     \
    LAPWING_MPI MPI_##Blocking##suffix(LAPWING_LIST parameters MPI_Comm comm) {                           \
        LAPWING_ENTERS;                                                                                   \
        return blocking(Call{LAPWING_LIST names}, comm,                                                   \
                        {"MPI_" #Blocking #suffix, __builtin_return_address(0)},                          \
                        [&] { return NEXT_##Blocking##suffix(LAPWING_LIST names comm); });                \
    }                                                                                                     \
    LAPWING_INIT_FUNCTION(MPI_##Blocking##_init##suffix, Call, parameters, names)                         \
    LAPWING_EXTENSION(MPIX_##Blocking##_init##suffix, Call, parameters, names)
