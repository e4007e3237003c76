// Messages for the tests of links.
#pragma once

#include "support/unit.hpp"

namespace lapwing {

using Bytes = std::vector<std::byte>;

// Each number gives other bytes.
inline Bytes message(std::size_t bytes, int number) {
    Bytes made(bytes);
    for (std::size_t i = 0; i < bytes; ++i)
        made[i] = static_cast<std::byte>(i * 7 + i / 256 + static_cast<std::size_t>(number));
    return made;
}

}  // namespace lapwing
