#include "engines/mlx5/doubles/wqe.hpp"

#include <fmt/format.h>

#include <map>

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
// Linux: u8 signature, u8 rsvd[2]; UCX src/uct/ib/mlx5/ib_mlx5.inl: dci_stream_channel_id.
constexpr Field signature{8, 31, 24};
constexpr Field stream{8, 23, 8};
// Linux: fm_ce_se, MLX5_FENCE_MODE_* << 5, MLX5_WQE_CTRL_CQ_UPDATE 2 << 2, MLX5_WQE_CTRL_SOLICITED 1 << 1.
// DPDK: enum mlx5_completion_mode << MLX5_COMP_MODE_OFFSET.
constexpr Field fence{8, 7, 5};
constexpr Field flag_4{8, 4, 4};
constexpr Field completion{8, 3, 2};
constexpr Field solicited{8, 1, 1};
constexpr Field flag_0{8, 0, 0};
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
    while (!segments.empty()) {
        // The engine posts no inline data.
        if (get(segments, data::is_inline) != 0) return Refusal::unsupported;
        const Span span = read_data_segment(segments);
        // Linux (hw/mlx5/qp.c) and rdma-core leave spans of no bytes out: a count of 0 has another meaning.
        if (span.bytes == 0) return Refusal::memory_key;
        request.spans.push_back(span);
        request.bytes += span.bytes;
        segments = segments.subspan(segment_bytes);
    }
    return Refusal::none;
}

}  // namespace

std::uint16_t read16(const std::byte* at) {
    return static_cast<std::uint16_t>(std::to_integer<unsigned>(at[0]) << 8 |
                                      std::to_integer<unsigned>(at[1]));
}
std::uint32_t read32(const std::byte* at) {
    return std::uint32_t{read16(at)} << 16 | read16(at + 2);
}
std::uint64_t read64(const std::byte* at) {
    return std::uint64_t{read32(at)} << 32 | read32(at + 4);
}
void write16(std::byte* at, std::uint16_t value) {
    at[0] = static_cast<std::byte>(value >> 8);
    at[1] = static_cast<std::byte>(value & 0xff);
}
void write32(std::byte* at, std::uint32_t value) {
    write16(at, static_cast<std::uint16_t>(value >> 16));
    write16(at + 2, static_cast<std::uint16_t>(value & 0xffff));
}

std::uint32_t Control::blocks() const {
    constexpr std::uint32_t in_block = block_bytes / segment_bytes;
    return (segments + in_block - 1u) / in_block;
}

Control read_control(std::span<const std::byte> segment) {
    Control read;
    read.modifier = static_cast<std::uint8_t>(get(segment, control::modifier));
    read.index = static_cast<std::uint16_t>(get(segment, control::index));
    read.opcode = static_cast<std::uint8_t>(get(segment, control::opcode));
    read.queue = get(segment, control::queue);
    read.segments = static_cast<std::uint8_t>(get(segment, control::segments));
    read.signature = static_cast<std::uint8_t>(get(segment, control::signature));
    read.stream = static_cast<std::uint16_t>(get(segment, control::stream));
    read.fence = static_cast<std::uint8_t>(get(segment, control::fence));
    read.completion = static_cast<std::uint8_t>(get(segment, control::completion));
    read.solicited = get(segment, control::solicited) != 0;
    read.flags_rest = static_cast<std::uint8_t>(
        get(segment, control::flag_4) | get(segment, control::flag_0) | get(segment, control::segments_rest));
    read.immediate = get(segment, control::immediate);
    return read;
}

Span read_data_segment(std::span<const std::byte> segment) {
    return {get64(segment, data::address_high, data::address_low), get(segment, data::bytes),
            get(segment, data::key)};
}

Refusal read_request(std::span<const std::byte> bytes, Request& request) {
    request = {};
    request.control = read_control(bytes);
    const Control& head = request.control;
    if (bytes.size() != head.segments * segment_bytes) return Refusal::wrong_size;
    // MLX5_FENCE_MODE_*: 0 to 4.
    if (head.signature != 0 || head.stream != 0 || head.flags_rest != 0 || head.fence > 4)
        return Refusal::reserved_bits;
    std::span<const std::byte> rest = bytes.subspan(segment_bytes);
    switch (head.opcode) {  // MLX5_OPCODE_*, Linux device.h; DPDK mlx5_prm.h for WAIT and SEND_EN
        case nop:
            if (head.modifier != 0) return Refusal::unknown_modifier;
            return Refusal::none;  // what follows in its blocks is not read: pcx pads by such
        case send:
        case send_immediate:
            if (head.modifier != 0) return Refusal::unknown_modifier;
            if (head.opcode == send && head.immediate != 0) return Refusal::reserved_bits;
            return read_data(rest, request);
        case rdma_write:
        case rdma_write_immediate:
            if (head.modifier != 0) return Refusal::unknown_modifier;
            if (head.opcode == rdma_write && head.immediate != 0) return Refusal::reserved_bits;
            if (rest.empty()) return Refusal::wrong_size;
            request.remote_address = get64(rest, remote::address_high, remote::address_low);
            request.remote_key = get(rest, remote::key);
            if (get(rest, remote::reserved) != 0) return Refusal::reserved_bits;
            return read_data(rest.subspan(segment_bytes), request);
        case wait:
        case send_enable:
            if (head.modifier != 0) return Refusal::unknown_modifier;  // MLX5_OPC_MOD_WAIT_CQ_PI is 0
            if (head.segments != 2) return Refusal::wrong_size;
            if (head.immediate != 0 || get(rest, management::reserved_0) != 0 ||
                get(rest, management::reserved_1) != 0)
                return Refusal::reserved_bits;
            request.max_index = get(rest, management::max_index);
            request.object = get(rest, management::object);
            return request.object > number_mask ? Refusal::reserved_bits : Refusal::none;
        default:
            return Refusal::unknown_opcode;
    }
}

const char* print(Refusal refusal) {
    static constexpr const char* words[] = {
#define LAPWING_REFUSAL(name, words) words,
#include "engines/mlx5/doubles/refusals.def"
    };
    return words[static_cast<std::size_t>(refusal)];
}

std::string print(const Request& request) {
    const Control& head = request.control;
    static const std::map<std::uint8_t, const char*> names = {{nop, "NOP"},
                                                              {rdma_write, "RDMA_WRITE"},
                                                              {rdma_write_immediate, "RDMA_WRITE_IMM"},
                                                              {send, "SEND"},
                                                              {send_immediate, "SEND_IMM"},
                                                              {wait, "WAIT"},
                                                              {send_enable, "SEND_EN"}};
    const auto found = names.find(head.opcode);
    std::string name = found != names.end() ? found->second : "?";
    std::string text = fmt::format("{} index {:#06x} queue {:#08x} segments {}", name, head.index, head.queue,
                                   head.segments);
    if (head.opcode == wait || head.opcode == send_enable)
        text += fmt::format(" max_index {:#x} object {:#08x}", request.max_index, request.object);
    return text;
}

}  // namespace lapwing::mlx5_double
