# Compiles for aarch64 Linux with Debian's cross compiler, against the root that scripts/aarch64-root has made:
#
#   cmake -S . -B build-aarch64 -G Ninja -DCMAKE_TOOLCHAIN_FILE=cmake/aarch64.cmake
#
# What the build itself runs (the tool, for its manual pages) runs in QEMU.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(LAPWING_ROOT ${CMAKE_CURRENT_LIST_DIR}/../build-aarch64/root CACHE PATH "Debian's arm64 packages, unpacked")
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES LAPWING_ROOT)
get_filename_component(CMAKE_SYSROOT ${LAPWING_ROOT} ABSOLUTE)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc-12)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++-12)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64-static -L ${CMAKE_SYSROOT})
# The root's own wrappers; their paths are those inside it.
set(LAPWING_OPENMPI_WRAPPER ${CMAKE_SYSROOT}/lapwing/mpicc.openmpi CACHE FILEPATH "")
set(LAPWING_MPICH_WRAPPER ${CMAKE_SYSROOT}/lapwing/mpicc.mpich CACHE FILEPATH "")
set(LAPWING_ABI_WRAPPER "" CACHE STRING "")
