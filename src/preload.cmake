# A preload library for each MPI that is installed: liblapwing-openmpi.so, liblapwing-mpich.so. Each is the room
# mpi/ and the link over that MPI, compiled with that MPI's wrapper.
set(LAPWING_OPENMPI_WRAPPER mpicc.openmpi CACHE STRING "Open MPI's C compiler wrapper; empty: none")
set(LAPWING_MPICH_WRAPPER mpicc.mpich CACHE STRING "MPICH's C compiler wrapper; empty: none")
find_package(nlohmann_json REQUIRED)

file(GLOB mpi_sources CONFIGURE_DEPENDS mpi/*.cpp mpi/collectives/*.cpp)

# Creates the interface target lapwing_mpi_<family> from what the wrapper passes to the compiler.
function(lapwing_find_mpi family wrapper compile_option link_option)
  find_program(LAPWING_WRAPPER_${family} ${wrapper})
  if(NOT LAPWING_WRAPPER_${family})
    message(STATUS "${wrapper} is not installed: no preload library for ${family}")
    return()
  endif()
  add_library(lapwing_mpi_${family} INTERFACE)
  foreach(option ${compile_option} ${link_option})
    execute_process(COMMAND ${LAPWING_WRAPPER_${family}} ${option} OUTPUT_VARIABLE words COMMAND_ERROR_IS_FATAL ANY)
    separate_arguments(words UNIX_COMMAND "${words}")
    foreach(word ${words})
      if(word MATCHES "^-I(.+)")
        target_include_directories(lapwing_mpi_${family} SYSTEM INTERFACE ${CMAKE_MATCH_1})
      elseif(word MATCHES "^-L(.+)")
        target_link_directories(lapwing_mpi_${family} INTERFACE ${CMAKE_MATCH_1})
      elseif(word MATCHES "^-l(.+)")
        target_link_libraries(lapwing_mpi_${family} INTERFACE ${CMAKE_MATCH_1})
      endif()
    endforeach()
  endforeach()
endfunction()

function(lapwing_preload family)
  if(NOT TARGET lapwing_mpi_${family})
    return()
  endif()
  add_library(lapwing-${family} SHARED ${mpi_sources} links/host_mpi.cpp)
  target_compile_definitions(lapwing-${family} PRIVATE LAPWING_VERSION="${PROJECT_VERSION}" OMPI_SKIP_MPICXX
                                                       MPICH_SKIP_MPICXX)
  target_link_libraries(lapwing-${family} PRIVATE lapwing_plan lapwing_mpi_${family} nlohmann_json::nlohmann_json
                                                  Threads::Threads ${CMAKE_DL_LIBS})
  # The program may have a C++ library of its own, of any age: ours is inside, and not to be seen.
  target_link_options(lapwing-${family} PRIVATE -Wl,-z,defs
    -Wl,--version-script=${CMAKE_CURRENT_SOURCE_DIR}/preload.map)
  set_property(TARGET lapwing-${family} APPEND PROPERTY LINK_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/preload.map)
  if(NOT LAPWING_SANITIZE)
    target_link_options(lapwing-${family} PRIVATE -static-libstdc++ -static-libgcc)
  endif()
  install(TARGETS lapwing-${family} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
endfunction()

# LibNBC's interface: functions by MPI's own. It needs no other library of ours: the calls are taken where the
# preload library is loaded.
function(lapwing_nbc family)
  if(NOT TARGET lapwing_mpi_${family})
    return()
  endif()
  file(GLOB sources CONFIGURE_DEPENDS mpi/nbc/*.c)
  add_library(nbc-lapwing-${family} SHARED ${sources})
  target_include_directories(nbc-lapwing-${family} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR}
                             INTERFACE ${CMAKE_CURRENT_SOURCE_DIR}/mpi/nbc)
  target_compile_definitions(nbc-lapwing-${family} PRIVATE OMPI_SKIP_MPICXX MPICH_SKIP_MPICXX)
  target_link_libraries(nbc-lapwing-${family} PUBLIC lapwing_mpi_${family})
  target_link_options(nbc-lapwing-${family} PRIVATE -Wl,-z,defs)
  set_target_properties(nbc-lapwing-${family} PROPERTIES SOVERSION 0)
  install(TARGETS nbc-lapwing-${family} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
  install(FILES mpi/nbc/nbc.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/lapwing)
endfunction()

lapwing_find_mpi(openmpi "${LAPWING_OPENMPI_WRAPPER}" --showme:compile --showme:link)
lapwing_find_mpi(mpich "${LAPWING_MPICH_WRAPPER}" -compile-info -link-info)
lapwing_preload(openmpi)
lapwing_preload(mpich)
lapwing_nbc(openmpi)
lapwing_nbc(mpich)
