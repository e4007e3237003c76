# The interface target lapwing_sodium: the archive of libsodium where it can go into a shared library, because hosts
# that only run programs need not have libsodium then; the shared library otherwise.
find_path(LAPWING_SODIUM_INCLUDE sodium.h REQUIRED)
find_library(LAPWING_SODIUM_ARCHIVE libsodium.a)
find_library(LAPWING_SODIUM_SHARED sodium)

if(LAPWING_SODIUM_ARCHIVE AND NOT DEFINED LAPWING_SODIUM_ARCHIVE_WORKS)
  # Its code is often made for executables only, which is enough as long as none of its names is exported.
  set(probe ${CMAKE_CURRENT_BINARY_DIR}/sodium_probe)
  file(WRITE ${probe}.c
    "#include <sodium.h>\nint probe(unsigned char* bytes) { randombytes_buf(bytes, 32); return crypto_shorthash_siphashx24(bytes, bytes, 8, bytes) + sodium_init(); }\n")
  try_compile(LAPWING_SODIUM_ARCHIVE_WORKS ${probe} SOURCES ${probe}.c
    CMAKE_FLAGS -DINCLUDE_DIRECTORIES=${LAPWING_SODIUM_INCLUDE} -DCMAKE_POSITION_INDEPENDENT_CODE=ON
    COMPILE_DEFINITIONS -fPIC
    LINK_OPTIONS -shared -Wl,-z,text -Wl,--exclude-libs,ALL
    LINK_LIBRARIES ${LAPWING_SODIUM_ARCHIVE})
endif()

add_library(lapwing_sodium INTERFACE)
target_include_directories(lapwing_sodium SYSTEM INTERFACE ${LAPWING_SODIUM_INCLUDE})
if(LAPWING_SODIUM_ARCHIVE_WORKS)
  target_link_libraries(lapwing_sodium INTERFACE ${LAPWING_SODIUM_ARCHIVE})
elseif(LAPWING_SODIUM_SHARED)
  message(STATUS "libsodium: the shared library, every host that runs programs needs it")
  target_link_libraries(lapwing_sodium INTERFACE ${LAPWING_SODIUM_SHARED})
else()
  message(FATAL_ERROR "libsodium is missing; scripts/install-dependencies installs it")
endif()
