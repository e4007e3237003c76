// The limit on the scratch memory of a list.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/verdict.hpp"

namespace lapwing {

constexpr std::uint64_t max_scratch = std::uint64_t{1} << 30;

// Declines lists that need more than 1 GiB of scratch for `spans` spans of `bytes` bytes. `reason` is a
// string literal.
inline Verdict within_scratch(
    std::uint64_t bytes, std::uint64_t spans,
    const char* reason = "the partial results of all steps need more than 1 GiB of scratch") {
    return bytes > max_scratch / std::max<std::uint64_t>(spans, 1) ? Verdict::no(reason) : Verdict::yes();
}

}  // namespace lapwing
