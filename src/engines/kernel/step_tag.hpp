// Which step of which chain of which run a completion belongs to.
#pragma once

#include <cstddef>
#include <cstdint>

namespace lapwing::kernel {

struct StepTag {
    static constexpr std::size_t max_chains = 1U << 24;  // of a run

    std::uint32_t run = 0;
    std::uint32_t chain = 0;
    std::uint32_t step = 0;

    // As an operation's user data; never Ring::wake_up.
    std::uint64_t packed() const {
        return std::uint64_t{run} << 40 | std::uint64_t{chain} << 16 | std::uint64_t{step};
    }
    static StepTag of(std::uint64_t user_data) {
        return {static_cast<std::uint32_t>(user_data >> 40),
                static_cast<std::uint32_t>(user_data >> 16 & (max_chains - 1)),
                static_cast<std::uint32_t>(user_data & 0xffff)};
    }
};

}  // namespace lapwing::kernel
