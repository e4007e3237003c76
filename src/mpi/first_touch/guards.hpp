// Guards on buffers that a call of MPI has filled: the time of the first access after the call is recorded.
// And watches on buffers that a call of MPI has read, see writes.hpp.
//
// A guard protects the whole pages inside a buffer. The first access by any thread raises SIGSEGV, whose
// handler records the time, lifts the guard and returns. Faults elsewhere go to the program's own handler.
// All guards are lifted before MPI may use a buffer again.
//
// The kernel does not raise a signal if a system call meets a guarded page: the call fails with EFAULT. So
// the library of the guards, which is preloaded beside that of the profile, stands before the functions of
// the C library that pass buffers to the kernel, that free or remap memory, and that set the handler or block
// the signal (c_library.cpp). They lift guards first.
#pragma once

#include <cstddef>

#include "mpi/first_touch/functions.hpp"

namespace lapwing::first_touch {

// For functions that pass the memory to the kernel or give it back.
void lift_in(const void* address, std::size_t bytes);
// Whether there is any guard.
bool any();

}  // namespace lapwing::first_touch
