// The native MPI. A preload library is linked to none: it finds the one that its process has, wherever
// that is installed and however it was loaded. (Python, for one, loads MPI where a link would not look, and a
// link to a library of the same name would load a second MPI beside the program's.)
//
// The build makes a header of all functions of mpi.h, which every file is compiled with: in each, PMPI_Send
// is looked up at its first call.
#pragma once

#include <mpi.h>

namespace lapwing {

// A function of the native MPI. Ends the process with a message when there is none.
void* find_native(const char* name);
// The same for a variable: the linker may have moved it into the program.
void* find_native_variable(const char* name);
// The same from the MPI or a library that it uses; null when there is none.
void* find_in_libraries(const char* name);

}  // namespace lapwing

#define LAPWING_NATIVE(function)                                                        \
    ([] {                                                                               \
        static auto* const lapwing_found =                                              \
            reinterpret_cast<decltype(&::function)>(::lapwing::find_native(#function)); \
        return lapwing_found;                                                           \
    }())

#ifdef OPEN_MPI
// Its handles are the addresses of its data.
#undef OMPI_PREDEFINED_GLOBAL
#define OMPI_PREDEFINED_GLOBAL(type, global)                                                           \
    ([] {                                                                                              \
        static const auto lapwing_found = static_cast<type>(::lapwing::find_native_variable(#global)); \
        return lapwing_found;                                                                          \
    }())
#endif
