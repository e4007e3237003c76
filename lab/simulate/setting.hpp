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

// Cores that ranks share. A rank that waits in an MPI call yields its core, as Open MPI's ranks do with
// mpi_yield_when_idle. A rank that computes keeps its core until its turn ends, so a message is received when
// some core ends its turn.
struct SharedCores {
    struct Group {
        std::vector<int> ranks;
        int cores = 0;
    };
    std::vector<Group> groups;  // a rank in no group has a core of its own
    Time slice = 0;             // the maximum length of a turn
};

struct Setting {
    Engine engine = engines().front();
    EngineCosts costs = {};
    Parameters parameters = {};
    Parameters native = {};            // of operations that the native MPI runs
    const Network* network = nullptr;  // null: every rank on a host of its own, all equally distant
    bool drained = false;              // links begin without burst credit
    Noise noise = {};
    SharedCores cores = {};  // of scripts
    Program program = {};
    Evaluation evaluation = Evaluation::automatic;
    bool backwards = false;  // evaluate the last rank first; for tests: the result must not change
    // Called from time to time with the number of messages since the last call.
    std::function<void(std::uint64_t messages)> advance = {};
};

}  // namespace lapwing::simulate
