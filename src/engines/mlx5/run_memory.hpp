// The memory of a run, registered with the card, and the requests that name it.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "engines/memory.hpp"
#include "engines/mlx5/plan.hpp"
#include "engines/mlx5/registered.hpp"
#include "engines/mlx5/wqe.hpp"

namespace lapwing::mlx5 {

class Lane;

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

}  // namespace lapwing::mlx5
