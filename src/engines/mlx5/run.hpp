// One run of a list on a card.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engines/engine.hpp"
#include "engines/memory.hpp"
#include "engines/mlx5/device.hpp"
#include "engines/mlx5/plan.hpp"
#include "engines/mlx5/wqe.hpp"

namespace lapwing::mlx5 {

class Lane;
class Peer;

// The memory of a run, registered with the card, and the requests that name it.
class RunMemory {
  public:
    // Makes what all runs use. Repeated calls do nothing.
    void make(Device& device, const Plan& plan);
    // Registers the caller's buffers, or copies them, at the start and end of a run.
    void begin(Device& device, const Plan& plan, const Buffers& buffers);
    void end(const Plan& plan, const Buffers& buffers);

    const Memory& memory() const { return memory_; }
    Memory& memory() { return memory_; }
    Data data(const Span& span) const;
    RemoteData remote(const Span& span) const;

    // All that requests name, except their indices.
    struct Names {
        std::array<std::uint64_t, 6> own{};  // addresses and keys of this
        const Lane* lane = nullptr;
        std::size_t turn = 0;  // Landing::turn()
        bool operator==(const Names&) const = default;
    };
    Names names(const Lane& lane, std::size_t turn) const;
    // The requests of each queue as they are posted, except their indices; and what they name.
    std::vector<std::vector<std::array<std::byte, block_bytes>>> requests;
    Names encoded;

  private:
    void make_bounce(Device& device, const Plan& plan);
    const MemoryKey& key(Space space) const;

    Memory memory_;                        // the caller's buffers, or copies
    std::unique_ptr<std::byte[]> bounce_;  // in, out
    Registered bounce_key_, scratch_key_, in_key_, out_key_;
    bool bounced_ = false;
};

// A run, from its start to its completion.
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
