# liblapwing.so: the room c/ behind the header include/lapwing.h, for programs and libraries without MPI; with what
# others need to find it: a CMake package and a pkg-config file.
include(CMakePackageConfigHelpers)

file(GLOB c_sources CONFIGURE_DEPENDS c/*.cpp)
set(c_map ${CMAKE_CURRENT_SOURCE_DIR}/c/lapwing.map)

# A sanitizer's runtime belongs to the program: there, tests get the archive.
if(LAPWING_SANITIZE)
  add_library(lapwing STATIC ${c_sources})
else()
  add_library(lapwing SHARED ${c_sources})
endif()
add_library(lapwing::lapwing ALIAS lapwing)
target_include_directories(lapwing PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
                                          $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
# Not a word of them in what is installed: all of it is inside.
target_link_libraries(lapwing PRIVATE $<BUILD_INTERFACE:lapwing_job> Threads::Threads)
# Before 1.0 every minor version may change what stands in the header.
set_target_properties(lapwing PROPERTIES UNITY_BUILD ON
  SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR} PUBLIC_HEADER ${PROJECT_SOURCE_DIR}/include/lapwing.h)
set(c_namelink NAMELINK_COMPONENT c_api)
set(c_link_flags -llapwing)
if(SKBUILD)
  # A wheel has no symbolic links, each would be a copy; and the loader does not look where wheels are.
  set(c_namelink NAMELINK_SKIP)
  set(c_link_flags "-l:liblapwing.so.${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR} -Wl,-rpath,\${libdir}")
else()
  set_target_properties(lapwing PROPERTIES VERSION ${PROJECT_VERSION})
endif()
if(LAPWING_SANITIZE)
  return()
endif()
# What types the functions have, for the test that compares them with those of the last version.
if(LAPWING_TESTS)
  target_compile_options(lapwing PRIVATE -g)
endif()
# As in preload.cmake: the program may have a C++ library of its own, of any age, or none.
target_link_options(lapwing PRIVATE ${lapwing_all_defined} -Wl,--version-script=${c_map} -static-libstdc++ -static-libgcc)
set_property(TARGET lapwing APPEND PROPERTY LINK_DEPENDS ${c_map})

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/lapwing)
# A component of its own, so that it can be installed without what is for MPI.
install(TARGETS lapwing EXPORT lapwing-targets
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT c_api ${c_namelink}
  PUBLIC_HEADER DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT c_api)
set_property(GLOBAL APPEND PROPERTY lapwing_binaries lapwing)
install(EXPORT lapwing-targets NAMESPACE lapwing:: DESTINATION ${package_dir} COMPONENT c_api)
configure_package_config_file(c/lapwing-config.cmake.in ${CMAKE_CURRENT_BINARY_DIR}/lapwing-config.cmake
  INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/lapwing-config-version.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/lapwing-config.cmake ${CMAKE_CURRENT_BINARY_DIR}/lapwing-config-version.cmake
  DESTINATION ${package_dir} COMPONENT c_api)
# The prefix is known only when it is installed: the file finds it from where it stands itself.
file(RELATIVE_PATH prefix_from_pc /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
configure_file(c/lapwing.pc.in ${CMAKE_CURRENT_BINARY_DIR}/lapwing.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/lapwing.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT c_api)
