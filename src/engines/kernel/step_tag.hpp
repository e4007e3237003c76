// Which step of which chain of which run a completion belongs to, and which part of the step.
#pragma once

#include <cstddef>
#include <cstdint>

namespace lapwing::kernel {

struct StepTag {
    static constexpr std::size_t max_chains = 1U << 22;  // of a run

    // A receive with a low-water mark is several operations.
    enum class Part : std::uint8_t {
        whole,  // all that is left of the step
        body,   // the operations up to the tail
        pause,  // the wait for the tail
        tail,   // the last bytes
    };

    std::uint32_t run = 0;
    std::uint32_t chain = 0;
    std::uint32_t step = 0;
    Part part = Part::whole;

    // As an operation's user data; never Ring::wake_up.
    std::uint64_t packed() const {
        return std::uint64_t{run} << 40 | static_cast<std::uint64_t>(part) << 38 |
               std::uint64_t{chain} << 16 | std::uint64_t{step};
    }
    static StepTag of(std::uint64_t user_data) {
        return {static_cast<std::uint32_t>(user_data >> 40),
                static_cast<std::uint32_t>(user_data >> 16 & (max_chains - 1)),
                static_cast<std::uint32_t>(user_data & 0xffff), static_cast<Part>(user_data >> 38 & 3)};
    }
};

}  // namespace lapwing::kernel
