// The native MPI. A preload library is not linked to an MPI: it finds the MPI of its process, wherever that
// is installed and however it was loaded. (Python loads an MPI where the linker would not search; a link to a
// library of the same name would load a second MPI.)
//
// The build generates a header with all functions of mpi.h, which is included in every file: PMPI_Send is
// looked up at its first call in a file. NEXT_Send is the MPI_Send that the program would call without this
// library, by find_next().
#pragma once

#include <mpi.h>

#include <string>

namespace lapwing {

// Returns a function of the native MPI. Ends the process with a message if the MPI has no such function.
void* find_native(const char* name);
// Returns a variable of the native MPI; the linker may have copied it into the program.
void* find_native_variable(const char* name);
// Returns a symbol of the MPI or of a library that it uses. Null if there is none.
void* find_in_libraries(const char* name);
// The function MPI_X behind this library: that of a tool that is not bound, or the native MPI's. If the MPI
// lacks it, prints so and returns a function that raises and returns MPI_ERR_UNSUPPORTED_OPERATION. The MPI
// of the process may be another version than the header: persistent collectives are MPI_ functions since
// MPI-4, and an extension with the prefix MPIX_ in Open MPI 4. Either is found by both names.
void* find_next(const char* name);
// The file whose function of this name the program calls, if that function does not lead to this library's;
// otherwise empty. A tool's function leads here if the tool is bound, see callers.hpp.
std::string file_before(const char* name);

}  // namespace lapwing

#define LAPWING_FOUND_BY(find, function)                                         \
    ([] {                                                                        \
        static auto* const lapwing_found =                                       \
            reinterpret_cast<decltype(&::function)>(::lapwing::find(#function)); \
        return lapwing_found;                                                    \
    }())
#define LAPWING_NATIVE(function) LAPWING_FOUND_BY(find_native, function)
#define LAPWING_NEXT(function) LAPWING_FOUND_BY(find_next, function)

#ifdef OPEN_MPI
// Open MPI's handles are addresses of its variables.
#undef OMPI_PREDEFINED_GLOBAL
#define OMPI_PREDEFINED_GLOBAL(type, global)                                                           \
    ([] {                                                                                              \
        static const auto lapwing_found = static_cast<type>(::lapwing::find_native_variable(#global)); \
        return lapwing_found;                                                                          \
    }())
#endif
