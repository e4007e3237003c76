// Choices for numbers of ranks that nobody measured, by simulation with what a tuning file says of messages.
#pragma once

#include <string>

#include "lapwing/tune/choices.hpp"

namespace lapwing::tool {

struct SimulatedChoices {
    std::vector<Collective> collectives;
    std::vector<std::uint64_t> bytes;
    std::vector<int> ranks;
    std::vector<std::string> engines;
};

// One for each engine that the tuning has message costs of between hosts, and each number of ranks. Throws
// Error (unsupported) when it has none.
std::vector<MeasuredTable> simulate_tables(const SimulatedChoices& asked, const Tuning& tuning);

}  // namespace lapwing::tool
