// Handles of the MPI as words.
#pragma once

#include <cstdint>
#include <type_traits>

#include "watch/journal.hpp"

namespace lapwing {

// A handle of the MPI, which is an integer or a pointer.
template <typename Handle>
std::uint64_t word_of(Handle handle) {
    if constexpr (std::is_pointer_v<Handle>)
        return watch::word_of(handle);
    else
        return static_cast<std::uint32_t>(handle);
}

inline std::uint64_t word_of(std::uint64_t word) {
    return word;
}

}  // namespace lapwing
