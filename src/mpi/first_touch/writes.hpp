// When buffers that a call of MPI has read were last written before the next call.
//
// The kernel marks the pages of a watched buffer as not written, and removes the mark at the first write
// (asynchronous write protection of userfaultfd). A thread asks for the pages that were written every half
// millisecond, or less often if that takes much time, and marks them again as often as the faults at their
// next writes allow. No signal is raised, and system calls and peers may use the memory as ever. Needs
// Linux 6.7 (PAGEMAP_SCAN); without it every watch is refused.
#pragma once

#include <cstddef>

#include "mpi/first_touch/functions.hpp"

namespace lapwing::first_touch {

// Watches the pages inside this buffer from now on. Buffers that share pages are watched as one. At most 64
// buffers: the one that was used least recently is watched no longer. Thread-safe.
Refusal watch(const void* address, std::size_t bytes);

// Returns false if not all pages inside this buffer have been watched. If none of them was written since, the
// time is the one when the watch began. Thread-safe.
bool find_last_write(const void* address, std::size_t bytes, LastWrite* found);

}  // namespace lapwing::first_touch
