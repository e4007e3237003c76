// All inputs of a simulation besides the lists.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "simulate/engine.hpp"
#include "simulate/network.hpp"
#include "simulate/noise.hpp"
#include "simulate/parameters.hpp"
#include "simulate/program.hpp"

namespace lapwing::simulate {

enum class Evaluation : std::uint8_t { automatic, worklist, queue };

struct Setting {
    Engine engine = engines().front();
    EngineCosts costs = {};
    Parameters parameters = {};
    const Network* network = nullptr;  // null: every rank on a host of its own, all equally distant
    Noise noise = {};
    Program program = {};
    Evaluation evaluation = Evaluation::automatic;
    bool backwards = false;  // evaluate the last rank first; for tests: the result must not change
    // Called from time to time with the number of messages since the last call.
    std::function<void(std::uint64_t messages)> advance = {};
};

}  // namespace lapwing::simulate
