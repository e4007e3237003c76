// What guards and watches need to know of the process's memory, and system calls that lift no guard.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "mpi/first_touch/functions.hpp"

namespace lapwing::first_touch {

// The function syscall() of the C library.
extern long (*native_syscall)(long number, ...);
// Sets it: when this library is loaded, or earlier if another library's constructor calls syscall().
void find_native_syscall();

// First byte, and first byte behind the pages that lie inside the buffer; none if they are equal.
std::pair<std::uintptr_t, std::uintptr_t> whole_pages(const void* address, std::size_t bytes);

// Why these pages can be neither guarded nor watched: there are none, or they are not private, writable, and
// of no stack, or the process has opened an RDMA device. Not thread-safe.
Refusal pages_refuse(std::uintptr_t begin, std::uintptr_t end);

}  // namespace lapwing::first_touch
