// Work-queue entries as a ConnectX reads them: the double's own table of fields, written from DPDK's and
// Linux's headers (wqe.cpp names the source of each), not from the encoder that the double tests.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace lapwing::mlx5_double {

constexpr std::uint32_t block_bytes = 64;     // MLX5_SEND_WQE_BB, Linux qp.h; DPDK: sizeof(struct mlx5_wqe)
constexpr std::uint32_t segment_bytes = 16;   // MLX5_SEND_WQE_DS, Linux qp.h; MLX5_WSEG_SIZE, DPDK mlx5_prm.h
constexpr std::uint32_t index_mask = 0xffff;  // MLX5_WQ_INDEX_WIDTH 16, DPDK mlx5_prm.h
constexpr std::uint32_t completion_mask = 0xffffff;  // MLX5_CQ_INDEX_WIDTH 24, DPDK mlx5_prm.h
constexpr std::uint32_t number_mask = 0xffffff;      // of queue pairs and completion queues

enum Opcode : std::uint8_t {
    nop = 0x00,
    rdma_write = 0x08,
    rdma_write_immediate = 0x09,
    send = 0x0a,
    send_immediate = 0x0b,
    wait = 0x0f,
    send_enable = 0x17,
};

// The reason of a refusal. The number is the vendor syndrome of the error completion.
enum class Refusal : std::uint8_t {
#define LAPWING_REFUSAL(name, words) name,
#include "engines/mlx5/doubles/refusals.def"
};
const char* print(Refusal refusal);

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
    std::uint8_t signature = 0;
    std::uint16_t stream = 0;
    std::uint8_t fence = 0;
    std::uint8_t completion = 0;  // 0, 1: on error only; 2, 3: always
    bool solicited = false;
    std::uint8_t flags_rest = 0;   // the bits of byte 11 that mean nothing
    std::uint32_t immediate = 0;   // the four bytes as they lie there, read as a big-endian number
    std::uint32_t blocks() const;  // that the request takes in its ring
    bool signalled() const { return completion >= 2; }
};

struct Request {
    Control control;
    std::uint64_t remote_address = 0;
    std::uint32_t remote_key = 0;
    std::vector<Span> spans;      // bytes to send, in order
    std::uint64_t bytes = 0;      // of all spans
    std::uint32_t max_index = 0;  // as it lies there: 32 bits
    std::uint32_t object = 0;
};

Control read_control(std::span<const std::byte> first_segment);
// Decodes a request from all of its bytes. Refuses requests that are wrong in any queue.
Refusal read_request(std::span<const std::byte> bytes, Request& request);
Span read_data_segment(std::span<const std::byte> segment);

// The lkey after the last span of a receive that has room for more: MLX5_INVALID_LKEY, Linux qp.h.
constexpr std::uint32_t end_of_receive = 0x100;

std::string print(const Request& request);

std::uint16_t read16(const std::byte* at);
std::uint32_t read32(const std::byte* at);
std::uint64_t read64(const std::byte* at);
void write16(std::byte* at, std::uint16_t value);
void write32(std::byte* at, std::uint32_t value);

}  // namespace lapwing::mlx5_double
