# The compiler of the wheel: zig's clang with libc++, for an older glibc than this machine's. Headers and archives of
# libraries come from the staged directory only, because those of this machine's glibc are in /usr/include, too.
# packaging/wheel/build sets LAPWING_WHEEL_WORK and makes what is below it.
set(work $ENV{LAPWING_WHEEL_WORK})
set(arch $ENV{LAPWING_WHEEL_ARCH})
cmake_host_system_information(RESULT machine QUERY OS_PLATFORM)
if(NOT arch STREQUAL machine)
  set(CMAKE_SYSTEM_NAME Linux)
  set(CMAKE_SYSTEM_PROCESSOR ${arch})
  set(CMAKE_CROSSCOMPILING_EMULATOR qemu-${arch}-static -L $ENV{LAPWING_WHEEL_DEBIAN})
endif()
set(CMAKE_C_COMPILER ${work}/bin/cc)
set(CMAKE_CXX_COMPILER ${work}/bin/c++)
set(CMAKE_AR ${work}/bin/ar)
set(CMAKE_RANLIB ${work}/bin/ranlib)
set(CMAKE_CXX_COMPILER_AR ${work}/bin/ar)
set(CMAKE_CXX_COMPILER_RANLIB ${work}/bin/ranlib)
set(CMAKE_C_COMPILER_AR ${work}/bin/ar)
set(CMAKE_C_COMPILER_RANLIB ${work}/bin/ranlib)
set(CMAKE_FIND_ROOT_PATH ${work}/root)
# Below the directory of the architecture, which CMake does not know of this compiler.
set(fmt_DIR ${work}/root/usr/lib/${arch}-linux-gnu/cmake/fmt)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
# One version script serves all preload libraries, and not each has each of its names.
set(CMAKE_SHARED_LINKER_FLAGS_INIT -Wl,--undefined-version)
