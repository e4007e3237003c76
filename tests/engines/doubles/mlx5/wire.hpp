// Moves the messages of a double's queue pairs over real queue pairs of another device (soft_roce.hpp),
// instead of packets through shared memory (network.hpp). The double still interprets the queues; the device
// sends, receives, retries and refuses.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "engines/doubles/mlx5/wqe.hpp"

namespace lapwing::mlx5_double {

// The wire of one card. The caller holds the card's lock. All functions may throw Error (system).
class Wire {
  public:
    virtual ~Wire() = default;

    // The number of a new queue pair.
    virtual std::uint32_t add_pair() = 0;
    virtual void connect(std::uint32_t pair, std::uint32_t peers_pair) = 0;
    virtual void fail(std::uint32_t pair) = 0;  // peers see that
    virtual void remove_pair(std::uint32_t pair) = 0;

    struct Keys {
        std::uint32_t local = 0;
        std::uint32_t remote = 0;
    };
    virtual Keys add_memory(void* memory, std::size_t bytes) = 0;
    virtual void remove_memory(std::uint32_t local_key) = 0;

    // At most Wire::max_messages of either may be incomplete. The completion has the same `id`.
    static constexpr std::size_t max_messages = 8;
    virtual void send(std::uint32_t pair, const Request& request, std::uint64_t id) = 0;
    virtual void receive(std::uint32_t pair, const Span& span, std::uint64_t id) = 0;

    struct Done {
        std::uint32_t pair = 0;
        bool received = false;
        std::uint64_t id = 0;
        std::uint8_t syndrome = 0;  // 0: it has succeeded
        std::uint8_t opcode = 0;    // of a received message: send, send_immediate, rdma_write_immediate
        std::uint64_t bytes = 0;
        std::uint32_t immediate = 0;
    };
    virtual std::optional<Done> next() = 0;
};

}  // namespace lapwing::mlx5_double
