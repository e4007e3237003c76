// Commands of a card and the offsets of their fields, after DPDK's mlx5_prm.h.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace lapwing::mlx5::command {

// A field of a command: offset and length in bits (mlx5_prm.h).
struct Bits {
    std::uint32_t at;
    std::uint32_t width;
    constexpr Bits in(std::uint32_t structure) const { return {structure + at, width}; }
};

inline void set_bits(unsigned char* data, Bits field, std::uint64_t value) {
    for (std::uint32_t bit = 0; bit < field.width; ++bit) {
        const std::uint32_t at = field.at + field.width - 1 - bit;
        const unsigned mask = 0x80U >> at % 8;
        const unsigned byte = data[at / 8];
        data[at / 8] = static_cast<unsigned char>((value >> bit & 1) != 0 ? byte | mask : byte & ~mask);
    }
}

inline std::uint64_t get_bits(const unsigned char* data, Bits field) {
    std::uint64_t value = 0;
    for (std::uint32_t at = field.at; at < field.at + field.width; ++at)
        value = value << 1 | (data[at / 8] >> (7 - at % 8) & 1U);
    return value;
}

// A command or its answer.
template <std::size_t bytes>
class Command {
  public:
    void set(Bits field, std::uint64_t value) { set_bits(data(), field, value); }
    std::uint64_t get(Bits field) const { return get_bits(data(), field); }
    unsigned char* data() { return data_.data(); }
    const unsigned char* data() const { return data_.data(); }
    static constexpr std::size_t size() { return bytes; }

  private:
    std::array<unsigned char, bytes> data_{};
};

inline constexpr Bits opcode{0x0, 16}, op_mod{0x30, 16}, number{0x48, 24}, status_syndrome{0x20, 32};
inline constexpr std::uint32_t query_hca_cap = 0x100, create_qp = 0x500, rst2init = 0x502, init2rtr = 0x503,
                               rtr2rts = 0x504;
// In QUERY_HCA_CAP's answer, after its header.
inline constexpr std::uint32_t capability = 0x80;
inline constexpr Bits cap_log_max_qp_sz{0x88, 8}, cap_log_max_cq_sz{0xc8, 8}, cap_log_max_msg{0x1c3, 5},
    cap_cd{0x22c, 1};
// The context of a queue pair, in all its commands.
inline constexpr std::uint32_t context = 0xc0;
inline constexpr Bits st{0x8, 8}, pm_state{0x13, 2}, pd{0x28, 24}, mtu{0x40, 3}, log_msg_max{0x43, 5},
    log_rq_size{0x49, 4}, log_rq_stride{0x4d, 3}, log_sq_size{0x51, 4}, uar_page{0x68, 24},
    remote_qpn{0xa8, 24}, log_sra_max{0x388, 3}, retry_count{0x38d, 3}, rnr_retry{0x390, 3},
    next_send_psn{0x3c8, 24}, cqn_snd{0x3e8, 24}, log_rra_max{0x488, 3}, rre{0x490, 1}, rwe{0x491, 1},
    cd_slave_send{0x49e, 1}, cd_master{0x49f, 1}, min_rnr_nak{0x4a3, 5}, next_rcv_psn{0x4a8, 24},
    cqn_rcv{0x4e8, 24}, dbr_addr{0x500, 64}, rq_type{0x565, 3}, dbr_umem_valid{0x683, 1},
    dbr_umem_id{0x720, 32};
// The path to the peer, in the context.
inline constexpr std::uint32_t path = context + 0xc0;
inline constexpr Bits path_fl{0x0, 1}, path_grh{0x28, 1}, path_mlid{0x29, 7}, path_rlid{0x30, 16},
    path_ack_timeout{0x40, 5}, path_src_addr_index{0x48, 8}, path_hop_limit{0x58, 8}, path_tclass{0x64, 8},
    path_udp_sport{0x110, 16}, path_port{0x128, 8}, path_rmac{0x130, 48};
inline constexpr std::uint32_t path_rgid = 0x80;
// After the context of CREATE_QP.
inline constexpr Bits wq_umem_offset{0x800, 64}, wq_umem_id{0x840, 32}, wq_umem_valid{0x860, 1};
inline constexpr std::size_t create_bytes = 0x880 / 8, modify_bytes = 0x880 / 8, answer_bytes = 0x80 / 8;

}  // namespace lapwing::mlx5::command
