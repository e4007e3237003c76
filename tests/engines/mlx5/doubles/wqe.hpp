// Work-queue entries as a ConnectX reads them: the double's own table of fields, written from DPDK's and
// Linux's headers (wqe.cpp names the source of each), not from the encoder that the double tests. It knows
// what the engine posts: requests of one block, with one span of bytes at most.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace lapwing::mlx5_double {

constexpr std::uint32_t block_bytes = 64;    // MLX5_SEND_WQE_BB, Linux qp.h; DPDK: sizeof(struct mlx5_wqe)
constexpr std::uint32_t segment_bytes = 16;  // MLX5_SEND_WQE_DS, Linux qp.h; MLX5_WSEG_SIZE, DPDK mlx5_prm.h
constexpr std::uint32_t completion_mask = 0xffffff;  // MLX5_CQ_INDEX_WIDTH 24, DPDK mlx5_prm.h
constexpr std::uint32_t number_mask = 0xffffff;      // of queue pairs and completion queues

enum Opcode : std::uint8_t {
    rdma_write = 0x08,
    rdma_write_immediate = 0x09,
    send = 0x0a,
    wait = 0x0f,
    send_enable = 0x17,
};

// Why the double refuses a request, in words; null: it does not.
using Refusal = const char*;
inline constexpr Refusal uncovered_memory = "memory that the key does not cover";

struct Span {
    std::uint64_t address = 0;
    std::uint32_t bytes = 0;
    std::uint32_t key = 0;
};

struct Control {
    std::uint8_t modifier = 0;
    std::uint16_t index = 0;
    std::uint8_t opcode = 0;
    std::uint32_t queue = 0;
    std::uint8_t segments = 0;  // DS
    bool signalled = false;
    std::uint32_t rest = 0;  // the bits that the engine does not set
};

struct Request {
    Control control;
    std::uint64_t remote_address = 0;
    std::uint32_t remote_key = 0;
    Span data;                    // bytes to send
    std::uint32_t max_index = 0;  // as it lies there: 32 bits
    std::uint32_t object = 0;
};

Control read_control(std::span<const std::byte> first_segment);
// Decodes a request from its block. Refuses requests that are wrong in any queue.
Refusal read_request(std::span<const std::byte> block, Request& request);
Span read_data_segment(std::span<const std::byte> segment);

// The lkey after the last span of a receive that has room for more: MLX5_INVALID_LKEY, Linux qp.h.
constexpr std::uint32_t end_of_receive = 0x100;

std::string print(const Request& request);

std::uint32_t read32(const std::byte* at);
void write16(std::byte* at, std::uint16_t value);
void write32(std::byte* at, std::uint32_t value);

}  // namespace lapwing::mlx5_double
