// What the library of guards and watches exports to the profile.
#pragma once

#include <cstddef>
#include <cstdint>

namespace lapwing::first_touch {

enum class Access : std::uint8_t { none, read, write, call };  // call: of a function of the C library

enum class Refusal : std::uint8_t {
    none,
    small,       // no whole page inside the buffer
    stack,       // on the stack of the caller
    shared,      // in shared memory, in a mapped file, or not writable
    windows,     // other ranks may access memory of this process at any time
    registered,  // the process has opened an RDMA device
    many,        // too many guards, or one that overlaps with another
    system,      // the system has refused to protect the pages, or cannot
    in_use,      // overlaps with the buffer of a call or a request that is not complete
};
constexpr int refusals = 9;
constexpr const char* names_of_refusals[refusals] = {"",           "small", "stack",  "shared", "windows",
                                                     "registered", "many",  "system", "in use"};

struct Touch {
    std::uint64_t tag = 0;    // of guard()
    std::uint64_t began = 0;  // nanoseconds of the steady clock: when the guard was set
    std::uint64_t ended = 0;  // when it was lifted
    std::uint64_t bytes = 0;
    Access access = Access::none;
};

// When a buffer was last written: between these times.
struct LastWrite {
    std::uint64_t earliest = 0;
    std::uint64_t latest = 0;
};

// What the library exports as `lapwing_first_touch`. The functions are thread-safe.
struct Functions {
    Refusal (*guard)(void* address, std::size_t bytes, std::uint64_t tag);
    // Lifts all guards. Writes what those that were set since the last call have found to `touches`, and
    // returns how many.
    std::size_t (*lift)(Touch* touches, std::size_t capacity);
    // Of writes.hpp.
    Refusal (*watch)(const void* address, std::size_t bytes);
    bool (*find_last_write)(const void* address, std::size_t bytes, LastWrite* found);
};
constexpr std::size_t max_guards = 64;

}  // namespace lapwing::first_touch
