// A call of a collective, between its wrapper and the event that records it.
#pragma once

#include <cstdint>

namespace lapwing::profile {

// A collective that is called now.
struct Called {
    std::uint8_t kind = 0;  // of its event, of a blocking one
    std::uint32_t site = 0;
    std::uint32_t communicator = 0;
    std::uint32_t number = 0;  // on that communicator
    std::uint64_t bytes = 0;
    std::uint64_t began = 0;
    void* into = nullptr;  // see Data in profile.hpp
    std::uint64_t into_bytes = 0;
};

}  // namespace lapwing::profile
