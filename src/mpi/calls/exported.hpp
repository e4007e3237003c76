// The functions of MPI that a preload library defines for the program.
#pragma once

#define LAPWING_MPI extern "C" __attribute__((visibility("default"))) int

namespace lapwing {

// The name of the function that the program has called, and where it returns to.
struct CallSite {
    const char* function;
    const void* address;
};

}  // namespace lapwing
