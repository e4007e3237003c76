#include "engines/mlx5/doubles/wqe.hpp"

#include <fmt/format.h>

namespace lapwing::mlx5_double {
namespace {

// A field of a segment: the big-endian 32-bit word at `byte`, bits `high` to `low`.
struct Field {
    std::size_t byte;
    unsigned high;
    unsigned low;
};

std::uint32_t get(std::span<const std::byte> segment, Field field) {
    const std::uint32_t word = read32(segment.data() + field.byte);
    const unsigned bits = field.high - field.low + 1;
    return (word >> field.low) & (bits == 32 ? UINT32_MAX : (1u << bits) - 1);
}

// The control segment. DPDK: drivers/common/mlx5/mlx5_prm.h; Linux: include/linux/mlx5/qp.h.
namespace control {
// DPDK: struct mlx5_wqe_cseg.opcode, "Bits 31:24 OPC_MOD, 23:8 wqe_index, 7:0 OPCODE".
// Linux: mlx5_wqe_ctrl_seg.opmod_idx_opcode, MLX5_WQE_CTRL_WQE_INDEX_MASK, MLX5_WQE_CTRL_OPCODE_MASK.
constexpr Field modifier{0, 31, 24};
constexpr Field index{0, 23, 8};
constexpr Field opcode{0, 7, 0};
// DPDK: mlx5_wqe_cseg.sq_ds = (SQ << 8) | DS; "WQE size field in Control Segment is 6 bits wide".
// Linux: qpn_ds, MLX5_WQE_CTRL_QPN_MASK, MLX5_WQE_CTRL_DS_MASK.
constexpr Field queue{4, 31, 8};
constexpr Field segments{4, 5, 0};
constexpr Field segments_rest{4, 7, 6};
// Linux: fm_ce_se, MLX5_WQE_CTRL_CQ_UPDATE 2 << 2. DPDK: enum mlx5_completion_mode << MLX5_COMP_MODE_OFFSET.
constexpr Field completion{8, 3, 2};  // 0, 1: on error only; 2, 3: always
// Linux: u8 signature, u8 rsvd[2], MLX5_FENCE_MODE_* << 5; UCX ib_mlx5.inl: dci_stream_channel_id.
constexpr Field signature_to_fence{8, 31, 4};
// Linux: MLX5_WQE_CTRL_SOLICITED 1 << 1.
constexpr Field solicited{8, 1, 0};
// Linux: imm. DPDK: misc.
constexpr Field immediate{12, 31, 0};
}  // namespace control

// DPDK: struct mlx5_wqe_rseg. Linux: struct mlx5_wqe_raddr_seg.
namespace remote {
constexpr Field address_high{0, 31, 0};
constexpr Field address_low{4, 31, 0};
constexpr Field key{8, 31, 0};
constexpr Field reserved{12, 31, 0};
}  // namespace remote

// DPDK: struct mlx5_wqe_dseg, MLX5_ETH_WQE_DATA_INLINE 1 << 31. Linux: struct mlx5_wqe_data_seg.
namespace data {
constexpr Field is_inline{0, 31, 31};
constexpr Field bytes{0, 30, 0};
constexpr Field key{4, 31, 0};
constexpr Field address_high{8, 31, 0};
constexpr Field address_low{12, 31, 0};
}  // namespace data

// WAIT with opmod 0, SEND_EN. DPDK: struct mlx5_wqe_qseg, used by mlx5_txpp.c and mlx5_tx.h (WAIT),
// mlx5_txpp.c and mlx5_crypto_gcm.c (SEND_EN). Mellanox pcx dv_mgr.cc: mlx5_wqe_coredirect_seg.
namespace management {
constexpr Field reserved_0{0, 31, 0};
constexpr Field reserved_1{4, 31, 0};
constexpr Field max_index{8, 31, 0};
constexpr Field object{12, 31, 0};
}  // namespace management

std::uint64_t get64(std::span<const std::byte> segment, Field high, Field low) {
    return std::uint64_t{get(segment, high)} << 32 | get(segment, low);
}

Refusal read_data(std::span<const std::byte> segments, Request& request) {
    if (segments.empty()) return nullptr;
    if (segments.size() > segment_bytes || get(segments, data::is_inline) != 0) return "not supported";
    request.data = read_data_segment(segments);
    // Linux (hw/mlx5/qp.c) and rdma-core leave spans of no bytes out: a count of 0 has another meaning.
    return request.data.bytes == 0 ? uncovered_memory : nullptr;
}

}  // namespace

std::uint32_t read32(const std::byte* at) {
    std::uint32_t value = 0;
    for (int i = 0; i < 4; ++i) value = value << 8 | std::to_integer<std::uint32_t>(at[i]);
    return value;
}
void write16(std::byte* at, std::uint16_t value) {
    at[0] = static_cast<std::byte>(value >> 8);
    at[1] = static_cast<std::byte>(value & 0xff);
}
void write32(std::byte* at, std::uint32_t value) {
    write16(at, static_cast<std::uint16_t>(value >> 16));
    write16(at + 2, static_cast<std::uint16_t>(value & 0xffff));
}

Control read_control(std::span<const std::byte> segment) {
    Control read;
    read.modifier = static_cast<std::uint8_t>(get(segment, control::modifier));
    read.index = static_cast<std::uint16_t>(get(segment, control::index));
    read.opcode = static_cast<std::uint8_t>(get(segment, control::opcode));
    read.queue = get(segment, control::queue);
    read.segments = static_cast<std::uint8_t>(get(segment, control::segments));
    read.signalled = get(segment, control::completion) >= 2;
    read.rest = get(segment, control::segments_rest) | get(segment, control::signature_to_fence) |
                get(segment, control::solicited) | get(segment, control::immediate);
    return read;
}

Span read_data_segment(std::span<const std::byte> segment) {
    return {get64(segment, data::address_high, data::address_low), get(segment, data::bytes),
            get(segment, data::key)};
}

Refusal read_request(std::span<const std::byte> block, Request& request) {
    constexpr const char* wrong_size = "size not allowed";  // DS
    constexpr const char* reserved_bits = "reserved bits are not zero";
    request = {};
    request.control = read_control(block);
    const Control& head = request.control;
    if (head.segments == 0 || head.segments * segment_bytes > block_bytes) return wrong_size;
    if (head.rest != 0) return reserved_bits;
    // MLX5_OPC_MOD_WAIT_CQ_PI is 0.
    if (head.modifier != 0) return "unknown opcode modifier";
    std::span<const std::byte> rest = block.subspan(segment_bytes, (head.segments - 1u) * segment_bytes);
    switch (head.opcode) {  // MLX5_OPCODE_*, Linux device.h; DPDK mlx5_prm.h for WAIT and SEND_EN
        case send:
            return read_data(rest, request);
        case rdma_write:
        case rdma_write_immediate:
            if (rest.empty()) return wrong_size;
            request.remote_address = get64(rest, remote::address_high, remote::address_low);
            request.remote_key = get(rest, remote::key);
            if (get(rest, remote::reserved) != 0) return reserved_bits;
            return read_data(rest.subspan(segment_bytes), request);
        case wait:
        case send_enable:
            if (head.segments != 2) return wrong_size;
            if (get(rest, management::reserved_0) != 0 || get(rest, management::reserved_1) != 0)
                return reserved_bits;
            request.max_index = get(rest, management::max_index);
            request.object = get(rest, management::object);
            return request.object > number_mask ? reserved_bits : nullptr;
        default:
            return "unknown opcode";
    }
}

std::string print(const Request& request) {
    const Control& head = request.control;
    return fmt::format(
        "opcode {:#04x} index {:#06x} queue {:#08x} segments {} max_index {:#x} object {:#08x}", head.opcode,
        head.index, head.queue, head.segments, request.max_index, request.object);
}

}  // namespace lapwing::mlx5_double
