# A preload library for each MPI that is installed: liblapwing-openmpi.so, liblapwing-mpich.so, and liblapwing-abi.so for
# programs of the MPI standard ABI. Each is the room mpi/ and the link over that MPI, compiled with its header;
# none is linked to an MPI, see mpi/native/native.hpp.
set(LAPWING_OPENMPI_WRAPPER mpicc.openmpi CACHE STRING "Open MPI's C compiler wrapper; empty: none")
set(LAPWING_MPICH_WRAPPER mpicc.mpich CACHE STRING "MPICH's C compiler wrapper; empty: none")
set(LAPWING_PRELOAD_DIR ${CMAKE_INSTALL_LIBDIR} CACHE STRING "Where preload libraries are installed, below the prefix")
set(LAPWING_ABI_WRAPPER mpicc_abi CACHE STRING "C compiler wrapper of an MPI with the standard ABI; empty: none")
find_package(nlohmann_json REQUIRED)

file(GLOB mpi_sources CONFIGURE_DEPENDS mpi/calls/*.cpp mpi/job/*.cpp mpi/native/*.cpp mpi/requests/*.cpp)
file(GLOB profile_sources CONFIGURE_DEPENDS mpi/profile/*.cpp)
# Each has a State of its own.
set_source_files_properties(${profile_sources} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
set(both_sources links/mpi/tags.cpp mpi/job/metadata.cpp mpi/job/mpi_job.cpp mpi/native/call_site.cpp mpi/native/callers.cpp
  mpi/native/guard.cpp mpi/native/libraries.cpp mpi/native/members.cpp mpi/native/native.cpp)
list(TRANSFORM both_sources PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/)
list(REMOVE_ITEM mpi_sources ${both_sources})
# The functions of collectives, which are compiled once for each of the two libraries.
set(collective_sources mpi/calls/alltoall.cpp mpi/calls/broadcast.cpp mpi/calls/gather_scatter.cpp mpi/calls/neighbor.cpp
  mpi/calls/reductions.cpp)

# Creates the interface targets lapwing_mpi_<family>, from what the wrapper passes to the compiler, and
# lapwing_mpi_<family>_header, the same without its library.
function(lapwing_find_mpi family wrapper compile_option link_option)
  if(wrapper STREQUAL "")
    return()
  endif()
  find_program(LAPWING_WRAPPER_${family} ${wrapper})
  if(NOT LAPWING_WRAPPER_${family})
    message(STATUS "${wrapper} is not installed: no preload library for ${family}")
    return()
  endif()
  add_library(lapwing_mpi_${family}_header INTERFACE)
  add_library(lapwing_mpi_${family} INTERFACE)
  target_link_libraries(lapwing_mpi_${family} INTERFACE lapwing_mpi_${family}_header)
  foreach(option ${compile_option} ${link_option})
    execute_process(COMMAND ${LAPWING_WRAPPER_${family}} ${option} OUTPUT_VARIABLE words COMMAND_ERROR_IS_FATAL ANY)
    separate_arguments(words UNIX_COMMAND "${words}")
    foreach(word ${words})
      if(word MATCHES "^-I(.+)")
        target_include_directories(lapwing_mpi_${family}_header SYSTEM INTERFACE ${CMAKE_MATCH_1})
      elseif(word MATCHES "^-D(MPI_.+)")
        target_compile_definitions(lapwing_mpi_${family}_header INTERFACE ${CMAKE_MATCH_1})
      elseif(word MATCHES "^-L(.+)")
        target_link_directories(lapwing_mpi_${family} INTERFACE ${CMAKE_MATCH_1})
      elseif(word MATCHES "^-l(.+)")
        target_link_libraries(lapwing_mpi_${family} INTERFACE ${CMAKE_MATCH_1})
      elseif(word MATCHES "^-Wl,-rpath|^-Wl,/")
        target_link_options(lapwing_mpi_${family} INTERFACE ${word})
      endif()
    endforeach()
  endforeach()
endfunction()

# Writes <made>.hpp, which makes each function of mpi.h one that is looked up in the MPI of the process, and
# <made>-gated.cpp.
function(lapwing_look_up family made)
  get_target_property(directories lapwing_mpi_${family}_header INTERFACE_INCLUDE_DIRECTORIES)
  if(NOT directories)
    set(directories /usr/include)
  endif()
  set(functions "")
  foreach(directory ${directories})
    file(GLOB files ${directory}/mpi.h ${directory}/mpi_*.h ${directory}/mpio.h)
    foreach(file ${files})
      file(STRINGS ${file} lines REGEX "^[^#]*(PMPI_|OMPI_C_)[A-Za-z0-9_]+ *[(]")
      foreach(line IN LISTS lines)
        string(REGEX MATCHALL "(PMPI_|OMPI_C_)[A-Za-z0-9_]+" names "${line}")
        list(APPEND functions ${names})
      endforeach()
    endforeach()
  endforeach()
  list(REMOVE_DUPLICATES functions)
  list(SORT functions)
  if(NOT "PMPI_Send" IN_LIST functions)
    message(FATAL_ERROR "no mpi.h with the functions PMPI_* in ${directories}")
  endif()
  set(text "// Made from mpi.h by src/preload.cmake.\n#pragma once\n#include \"mpi/native/native.hpp\"\n")
  foreach(function ${functions})
    string(APPEND text "#ifndef ${function}\n#define ${function} LAPWING_NATIVE(${function})\n#endif\n")
    if(function MATCHES "^PMPI_(.+)")
      string(APPEND text "#define NEXT_${CMAKE_MATCH_1} LAPWING_NEXT(MPI_${CMAKE_MATCH_1})\n")
    endif()
  endforeach()
  file(CONFIGURE OUTPUT ${made}.hpp CONTENT "${text}" @ONLY)

  # And the file that defines the functions that must pass the gate: not those that any thread may call at any time, nor
  # conversions, nor functions of MPI-1 that mpi.h refuses.
  set(text "// Made from mpi.h by src/preload.cmake.\n#include \"mpi/native/later_functions.hpp\"\n")
  foreach(function ${functions})
    string(SUBSTRING ${function} 1 -1 name)
    if(function MATCHES "^PMPI_" AND NOT function MATCHES "_(c2f|f2c|c2f08|f082c|f2f08|f082f|fromint|toint)$"
       AND NOT function MATCHES "^PMPI_(T|Abi|Aint)_"
       AND NOT function MATCHES "^PMPI_(Initialized|Finalized|Is_thread_main|Get_(version|library_version|address)|Wtime|Wtick|Pcontrol)$"
       AND NOT function MATCHES "^PMPI_(Address|Errhandler_(create|get|set)|Type_(extent|hindexed|hvector|lb|struct|ub))$")
      string(APPEND text "#undef ${function}\n#undef ${name}\nLAPWING_GATED(${name})\n")
    endif()
  endforeach()
  file(CONFIGURE OUTPUT ${made}-gated.cpp CONTENT "${text}" @ONLY)
endfunction()

# What goes into libraries that are loaded with the program is compiled like this.
function(lapwing_preload_objects name family)
  target_compile_definitions(${name} PRIVATE
    LAPWING_VERSION="${LAPWING_VERSION}" LAPWING_PRELOAD_FAMILY="${family}" OMPI_SKIP_MPICXX MPICH_SKIP_MPICXX)
  if(LAPWING_SANITIZE)
    target_compile_definitions(${name} PRIVATE LAPWING_SANITIZED)
  endif()
  # It is loaded with the program, so what its threads have of their own needs no call to be found.
  target_compile_options(${name} PRIVATE -ftls-model=initial-exec)
  target_link_libraries(${name} PRIVATE
    lapwing_job lapwing_mpi_${family}_header nlohmann_json::nlohmann_json Threads::Threads ${CMAKE_DL_LIBS})
endfunction()

# One that is loaded with the program: what both have, and these sources.
function(lapwing_preload_library name family)
  add_library(${name} SHARED ${ARGN})
  lapwing_preload_objects(${name} ${family})
  target_precompile_headers(${name} REUSE_FROM lapwing-both-${family})
  set_target_properties(${name} PROPERTIES UNITY_BUILD ON)
  target_link_libraries(${name} PRIVATE lapwing-both-${family})
  # The program may have a C++ library of its own, of any age: ours is inside, and not to be seen.
  target_link_options(${name} PRIVATE ${lapwing_all_defined} -Wl,--hash-style=gnu
    -Wl,--version-script=${CMAKE_CURRENT_SOURCE_DIR}/preload.map)
  set_property(TARGET ${name} APPEND PROPERTY LINK_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/preload.map)
  if(NOT LAPWING_SANITIZE)
    target_link_options(${name} PRIVATE -static-libstdc++ -static-libgcc)
  endif()
  install(TARGETS ${name} LIBRARY DESTINATION ${LAPWING_PRELOAD_DIR})
  set_property(GLOBAL APPEND PROPERTY lapwing_binaries ${name})
endfunction()

# The one with the lists, and the one of `lapwing profile`, which has none.
function(lapwing_preload family)
  if(NOT TARGET lapwing_mpi_${family})
    return()
  endif()
  lapwing_look_up(${family} ${CMAKE_CURRENT_BINARY_DIR}/native/${family})
  add_library(lapwing-both-${family} OBJECT ${both_sources})
  lapwing_preload_objects(lapwing-both-${family} ${family})
  set_target_properties(lapwing-both-${family} PROPERTIES UNITY_BUILD ON)
  # First of all what makes PMPI_X a call that is looked up; then what most files take.
  target_precompile_headers(lapwing-both-${family} PRIVATE
    ${CMAKE_CURRENT_BINARY_DIR}/native/${family}.hpp ${lapwing_precompiled})
  lapwing_preload_library(lapwing-${family} ${family} ${mpi_sources} links/mpi/mpi_link.cpp
    links/mpi/own_communicator.cpp
    ${CMAKE_CURRENT_BINARY_DIR}/native/${family}-gated.cpp)
  set_source_files_properties(${CMAKE_CURRENT_BINARY_DIR}/native/${family}-gated.cpp PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  lapwing_preload_library(lapwing-profile-${family} ${family} ${profile_sources} ${collective_sources})
  # What they do with a call of a collective, for mpi/calls/functions.hpp.
  target_compile_definitions(lapwing-${family} PRIVATE LAPWING_TAKES_CALLS="mpi/calls/call.hpp")
  target_compile_definitions(lapwing-profile-${family} PRIVATE LAPWING_TAKES_CALLS="mpi/profile/profile.hpp")
endfunction()

lapwing_find_mpi(openmpi "${LAPWING_OPENMPI_WRAPPER}" --showme:compile --showme:link)
lapwing_find_mpi(mpich "${LAPWING_MPICH_WRAPPER}" -compile-info -link-info)
lapwing_find_mpi(abi "${LAPWING_ABI_WRAPPER}" -compile-info -link-info)
foreach(family openmpi mpich abi)
  lapwing_preload(${family})
endforeach()
# LibNBC's interface, by functions of MPI.
install(FILES mpi/nbc.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/lapwing)
