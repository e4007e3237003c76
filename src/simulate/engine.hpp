// An engine as the simulation sees it: who runs a task, and when.
#pragma once

#include <cstdint>
#include <span>

#include "simulate/time.hpp"

namespace lapwing::simulate {

// engines.def says what they mean.
enum class Runner : std::uint8_t { calls, thread, offload };

struct Engine {
    const char* name;
    Runner messages;
    Runner local;
    Runner long_local;
    const char* tuned;  // the engine of a tuning file whose constants it has
    const char* meaning;
};

std::span<const Engine> engines();

// What of an engine is not in the tuning file.
struct EngineCosts {
    Time wake_up = 0;  // of a progress thread that sleeps until a message arrives
    // Of the time that a thread or the kernel takes for tasks, the part that the program loses while it
    // works: 0 with a processor of their own, 1 without.
    double taken = 0;
    Time test = 0;  // of a call of MPI_Test that finds nothing
};

}  // namespace lapwing::simulate
