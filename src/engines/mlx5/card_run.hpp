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

struct CardRun final : Operation {
    explicit CardRun(const Plan& of) : plan(of) {}

    const Plan& plan;
    Lane* lane = nullptr;
    std::uint32_t channel = 0;
    enum class State { waiting, connecting, running, complete, failed } state = State::complete;
    bool is_over() const { return state == State::complete || state == State::failed; }
    std::string error;

    Buffers buffers;  // the caller's
    RunMemory own;
    RunMemory* memory = nullptr;  // `own`, or the landing that peers write to
    bool written_to = false;      // `memory` is the landing

    std::vector<Peer*> peers;  // by queue
    const Lane* lane_of_peers = nullptr;

    std::size_t stage = 0;  // the next one
    // The position of a queue.
    struct Base {
        // When the run began.
        std::uint16_t index = 0;     // of the next request
        std::uint64_t received = 0;  // completions of receives
        // Of this run, so far.
        std::uint64_t posted = 0;    // requests
        std::uint64_t receives = 0;  // receives
    };
    std::vector<Base> bases;                              // by queue
    std::uint64_t sends = 0, copies = 0, management = 0;  // completions when the run began
};

}  // namespace lapwing::mlx5
