// What joins the double's cards: an inbox of packets for each, in memory that all of them share, of threads
// or of processes.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
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
    std::uint32_t immediate = 0;
    std::uint32_t remote_key = 0;
    std::uint64_t offset = 0;  // of these bytes in the message
    std::uint64_t remote_address = 0;
};

class Network {
  public:
    // For cards of this process, and of children that it forks later.
    static std::shared_ptr<Network> of_process(std::uint32_t cards);
    // For processes that name the same file; the first one makes it. Who made it removes it.
    static std::shared_ptr<Network> at(const std::string& path, std::uint32_t cards);
    ~Network();
    Network(const Network&) = delete;
    Network& operator=(const Network&) = delete;

    // The number of a new card, in the order in which they join. Throws Error (system) where all have joined.
    std::uint32_t join();
    void leave(std::uint32_t card);
    // It has left, or its process has ended.
    bool gone(std::uint32_t card) const;

    // False where the inbox has no room now.
    bool send(std::uint32_t to, const Packet& packet, std::span<const std::byte> payload);
    // False where the inbox is empty.
    bool receive(std::uint32_t card, Packet& packet, std::vector<std::byte>& payload);

    // Something has happened that a card may want to see: it wakes all that wait.
    void notify();
    std::uint32_t events() const;
    // Until there are more than `seen` events, or for so long.
    void wait(std::uint32_t seen, std::chrono::microseconds limit) const;

  private:
    struct Shared;
    Network(Shared* shared, std::size_t bytes, std::string path);
    Shared* shared_;
    std::size_t bytes_;
    std::string path_;  // to remove
};

}  // namespace lapwing::mlx5_double
