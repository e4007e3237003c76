# How everything that is installed is compiled and linked, so that a fault in memory ends the program instead of serving
# an attacker: included by the directories that install binaries. tests/packaging reads the binaries.
# Debug builds and sanitizers have checks of their own; the headers of _FORTIFY_SOURCE need optimization.
if(LAPWING_SANITIZE OR CMAKE_BUILD_TYPE STREQUAL "Debug")
  return()
endif()
include(CheckPIESupported)
check_pie_supported()
# Distributions pass a level of their own, which may stay.
set(fortify "-U_FORTIFY_SOURCE" "-D_FORTIFY_SOURCE=2")
if(CMAKE_CXX_FLAGS MATCHES "_FORTIFY_SOURCE")
  set(fortify "")
endif()
add_compile_options(-fstack-protector-strong ${fortify})
add_link_options(-Wl,-z,relro -Wl,-z,now -Wl,-z,noexecstack)
