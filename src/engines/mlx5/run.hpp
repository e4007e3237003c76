// One run of a list on a card.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engines/engine.hpp"
#include "engines/mlx5/plan.hpp"
#include "engines/mlx5/run_memory.hpp"

namespace lapwing::mlx5 {

class Lane;
class Peer;

struct Run final : Operation {
    explicit Run(const Plan& of) : plan(of) {}

    const Plan& plan;
    Lane* lane = nullptr;
    std::uint32_t channel = 0;
    enum class State { waiting, connecting, running, complete, failed } state = State::complete;
    std::string error;

    Buffers buffers;  // the caller's
    RunMemory own;
    RunMemory* memory = nullptr;  // that, or what peers write to
    bool written_to = false;      // it is the latter

    std::vector<Peer*> peers;  // by queue
    const Lane* lane_of_peers = nullptr;

    std::size_t stage = 0;  // the next one
    // Of each queue, where it was when the run began.
    struct Base {
        std::uint16_t index = 0;     // of requests
        std::uint64_t received = 0;  // entries
        std::uint64_t posted = 0;    // requests of this run
        std::uint64_t receives = 0;  // posted
    };
    std::vector<Base> bases;
    std::uint64_t sends = 0, copies = 0, management = 0;  // entries when the run began
};

}  // namespace lapwing::mlx5
