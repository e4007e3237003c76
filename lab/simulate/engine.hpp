// The engines of the simulation: what runs each task, and when.
#pragma once

#include <cstdint>
#include <span>

#include "simulate/time.hpp"

namespace lapwing::simulate {

// What runs a task, and when the task can begin.
enum class Runner : std::uint8_t {
    calls,   // the program's processor, inside MPI calls: in the first call after the task becomes ready
    thread,  // a progress thread on a processor of its own, which wakes up first
    offload  // the kernel or the card: at once, without noise
};

struct Engine {
    const char* name;
    Runner messages;    // sends, and waits for receives
    Runner local;       // copies, reductions and intra-node messages
    Runner long_local;  // the same in lists that are not short (base/short_message.hpp)
    const char* tuned;  // the engine whose constants in a tuning file apply
    const char* meaning;
};

std::span<const Engine> engines();

// The costs of an engine that are not in the tuning file.
struct EngineCosts {
    Time wake_up = 0;  // of a progress thread that sleeps until a message arrives
};

}  // namespace lapwing::simulate
