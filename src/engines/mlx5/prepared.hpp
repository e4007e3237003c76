// A list prepared for the card, and its runs.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "engines/engine.hpp"
#include "engines/memory.hpp"
#include "engines/mlx5/lane.hpp"
#include "task/work_queues.hpp"

namespace lapwing::mlx5 {

// The engine's part in one group.
class Group {
  public:
    Group(Device& device, Link& messages, const WorkVariant& variant);

    Device& device() { return device_; }
    Link& messages() { return messages_; }
    const WorkVariant& variant() const { return variant_; }
    WorkLimits limits() const;
    // Shared lanes are taken in turn; a kept channel has its own.
    Lane& lane(std::uint32_t channel, int ranks);
    // Before a caller sleeps: the next completion that any lane needs makes a descriptor readable. -1:
    // something is not connected yet.
    int arm();
    // Before completions are read: those that come later make the descriptor readable again.
    void forget_events();

  private:
    Device& device_;
    Link& messages_;
    const WorkVariant variant_;
    std::uint32_t depth_;
    bool armed_ = false;
    std::map<std::uint32_t, std::unique_ptr<Lane>> lanes_;
};

// What is the same for all runs of a list.
struct Plan {
    WorkQueues queues;
    std::uint64_t in_bytes = 0, out_bytes = 0, scratch_bytes = 0;
    std::vector<Span> written;  // of `out`, by anything, without overlaps
};

// Memory that the card may use; registered as long as this lives.
class Registered {
  public:
    Registered() = default;
    Registered(Device& device, const std::byte* memory, std::size_t bytes);
    ~Registered() { reset(); }
    Registered(Registered&& other) noexcept;
    Registered& operator=(Registered&& other) noexcept;

    void reset();
    const MemoryKey& key() const { return key_; }

  private:
    Device* device_ = nullptr;  // null: nothing is registered
    MemoryKey key_;
};

struct Run final : Operation {
    explicit Run(const Plan& of) : plan(of) {}

    const Plan& plan;
    Lane* lane = nullptr;
    std::uint32_t channel = 0;
    enum class State { waiting, connecting, running, complete, failed } state = State::complete;
    std::string error;

    Buffers buffers;                      // the caller's
    Memory memory;                        // what the card uses: that, or copies of it
    std::unique_ptr<std::byte[]> bounce;  // in, out
    Registered bounce_key, scratch_key, in_key, out_key;
    bool bounced = false;

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
    // Its requests as they are posted but for their indices, and for which keys and addresses.
    std::vector<std::vector<std::array<std::byte, block_bytes>>> requests;
    const Lane* encoded_for = nullptr;
    std::array<std::uint64_t, 6> encoded_with{};
};

class CardPrepared : public Prepared {
  public:
    CardPrepared(const List& list, std::shared_ptr<Group> group);
    ~CardPrepared() override;

    Operation* start(const Buffers& buffers, std::uint32_t channel) override;
    bool test(Operation* operation) override;
    int prepare_to_sleep(Operation* operation) override;

  private:
    Plan plan_;
    std::shared_ptr<Group> group_;
    std::vector<std::unique_ptr<Run>> runs_;
    std::vector<Run*> idle_;
};

}  // namespace lapwing::mlx5
