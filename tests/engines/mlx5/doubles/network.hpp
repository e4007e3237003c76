// The network of the doubles: an inbox of packets for each card, in memory that all threads or processes
// share.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace lapwing::mlx5_double {

enum class PacketKind : std::uint8_t { data, acknowledgement, not_ready, refused };

struct Packet {
    PacketKind kind = PacketKind::data;
    std::uint8_t opcode = 0;
    std::uint8_t syndrome = 0;  // of `refused`
    bool last = false;
    std::uint32_t from_card = 0;
    std::uint32_t from_pair = 0;
    std::uint32_t to_pair = 0;
    std::uint32_t message = 0;  // in the order of its queue pair, from 0
    std::uint32_t bytes = 0;    // that follow
    std::uint32_t remote_key = 0;
    std::uint64_t offset = 0;  // of these bytes in the message
    std::uint64_t remote_address = 0;
};

class Network {
  public:
    // For cards of this process, and of children that it forks later.
    static std::shared_ptr<Network> of_process(std::uint32_t cards);
    ~Network();
    Network(const Network&) = delete;
    Network& operator=(const Network&) = delete;

    // The number of a new card, in the order in which they join. Throws Error (system) if all have joined.
    std::uint32_t join();
    void leave(std::uint32_t card);
    // Whether the card has left, or its process has ended.
    bool gone(std::uint32_t card) const;

    // Returns false if the inbox is full.
    bool send(std::uint32_t to, const Packet& packet, std::span<const std::byte> payload);
    // Returns false if the inbox is empty.
    bool receive(std::uint32_t card, Packet& packet, std::vector<std::byte>& payload);

    // Signals an event: wakes all cards that wait.
    void notify();
    std::uint32_t events() const;
    // Waits until there are more than `seen` events, or until the limit.
    void wait(std::uint32_t seen, std::chrono::microseconds limit) const;

  private:
    struct Shared;
    Network(Shared* shared, std::size_t bytes);
    Shared* shared_;
    std::size_t bytes_;
};

}  // namespace lapwing::mlx5_double
