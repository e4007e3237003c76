// The place in the program that calls the MPI, where the call comes by way of the MPI's Fortran library: all
// calls of one of its functions return to one address there.
#pragma once

#include <atomic>
#include <cstdint>

#include "mpi/native/place_table.hpp"

namespace lapwing {

// Returns where the program's call returns to: the first return address on the stack outside of the MPI's own
// libraries. `site`: where the call of the C function returns to; the result, if that is in the program.
// Walks the stack, which takes microseconds.
const void* call_site_in_program(const void* site);

// The same, in nanoseconds: remembers how far above its caller's frame the stack holds that address. Asked by
// one function only, so that this distance is the same for all calls of a function.
class CallSites {
  public:
    // `frame`: the caller's __builtin_frame_address(0).
    const void* in_program(const void* site, const void* frame);

  private:
    // 48 bits of a site, and above them the distance in words; without a distance the site itself is the
    // result.
    PlaceTable<std::atomic<std::uint64_t>> known_;
};

}  // namespace lapwing
