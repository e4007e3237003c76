// Everything that a simulation depends on besides the lists.
#pragma once

#include <cstdint>
#include <functional>

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
    const Network* network =
        nullptr;           // null: every rank on a host of its own, all equally far from each other
    bool drained = false;  // links begin without the burst that a pause would have left them
    Noise noise = {};
    Program program = {};
    Evaluation evaluation = Evaluation::automatic;
    bool backwards = false;  // begin with the last rank: for tests, since it changes nothing
    // Told how many messages have been sent since the last call, from time to time.
    std::function<void(std::uint64_t messages)> advance = {};
};

}  // namespace lapwing::simulate
