// What the files of Card share: numbers of completions and records, and the state of queues.
#pragma once

#include <cstring>

#include "engines/doubles/mlx5/card.hpp"

namespace lapwing::mlx5_double {

// Linux include/linux/mlx5/cq.h, MLX5_CQE_*; UCX ib_mlx5.inl reads the same.
enum CompletionOpcode : std::uint8_t {
    of_request = 0,
    of_write_immediate = 1,
    of_send = 2,
    of_send_immediate = 3,
    of_request_error = 13,
    of_receive_error = 14,
};
// Linux include/linux/mlx5/cq.h, MLX5_CQE_SYNDROME_*.
enum Syndrome : std::uint8_t {
    local_length = 0x01,
    local_operation = 0x02,
    local_protection = 0x04,
    flushed = 0x05,
    remote_invalid = 0x12,
    remote_denied = 0x13,
    remote_operation = 0x14,
    retries_exceeded = 0x15,
};
// Offsets in a completion: struct mlx5_cqe64 and mlx5_err_cqe, Linux include/linux/mlx5/device.h; struct
// mlx5_cqe and mlx5_error_cqe, DPDK mlx5_prm.h (imm_inval_pkey is its flow_table_metadata, sop_drop_qpn of an
// error its s_wqe_opcode_qpn).
namespace at {
constexpr std::size_t immediate = 36;
constexpr std::size_t bytes = 44;
constexpr std::size_t vendor_syndrome = 54;
constexpr std::size_t syndrome = 55;
constexpr std::size_t opcode_and_pair = 56;
constexpr std::size_t index = 60;
constexpr std::size_t opcode_and_owner = 63;
}  // namespace at
// Words of the doorbell records: MLX5_RCV_DBR, MLX5_SND_DBR, Linux qp.h; DPDK the same. Of a completion
// queue: set_ci_db, the consumer index in 24 bits (Linux cq.h).
constexpr int receive_word = 0;
constexpr int send_word = 1;
constexpr int consumer_word = 0;

constexpr std::size_t max_messages = Wire::max_messages;  // that are not acknowledged
constexpr std::uint16_t half_of_indices = 0x8000;

inline std::uint32_t read_record(const volatile std::uint32_t* record, int word) {
    std::uint32_t stored = __atomic_load_n(record + word, __ATOMIC_ACQUIRE);
    std::byte bytes[sizeof stored];
    std::memcpy(bytes, &stored, sizeof stored);
    return read32(bytes);
}

inline std::uint16_t distance(std::uint16_t from, std::uint16_t to) {
    return static_cast<std::uint16_t>(to - from);
}

inline Round more(Round one, Round other) {
    return std::max(one, other);
}

inline bool is_message(std::uint8_t opcode) {
    return opcode == send || opcode == send_immediate || opcode == rdma_write ||
           opcode == rdma_write_immediate;
}
inline bool needs_receive(std::uint8_t opcode) {
    return opcode == send || opcode == send_immediate || opcode == rdma_write_immediate;
}

struct Card::Completions {
    std::uint32_t number = 0;
    CompletionRing ring;
    std::uint32_t produced = 0;  // the index of the next one; low 24 bits count
    std::uint32_t counted = 0;   // the same for WAIT
    std::uint32_t total = 0;
    bool failed = false;
    bool armed = false;
};

struct Card::Pending {
    std::uint64_t serial = 0;
    std::uint16_t index = 0;
    std::uint32_t blocks = 1;
    std::uint8_t opcode = 0;
    bool signalled = false;
    bool done = false;
    std::uint8_t syndrome = 0;
    Refusal refusal = Refusal::none;
};

struct Card::Message {
    std::uint32_t number = 0;
    std::uint64_t serial = 0;  // of its Pending
    Request request;
    std::uint64_t sent = 0;
    std::uint32_t max_bytes = 1024;  // in a packet
    bool all_sent = false;
};

struct Card::Received {
    std::uint8_t opcode = 0;
    std::uint16_t index = 0;
    std::uint32_t immediate = 0;
    std::uint64_t bytes = 0;
    std::uint8_t syndrome = 0;
    Refusal refusal = Refusal::none;
};

struct Card::Pair {
    struct Fetched {
        std::uint16_t index = 0;
        std::uint32_t blocks = 1;
        Refusal refusal = Refusal::none;
        std::vector<std::byte> bytes;
    };
    struct Arrived {
        Packet packet;
        std::vector<std::byte> payload;
    };
    struct Late {  // Fault::completion_before_data
        std::byte* to = nullptr;
        std::vector<std::byte> bytes;
        int rounds = 0;
    };
    enum class State { unconnected, connected, failed };

    std::uint32_t number = 0;
    PairRings rings;
    State state = State::unconnected;
    std::uint32_t peer_card = 0;
    std::uint32_t peer_pair = 0;
    unsigned pace = 1;
    unsigned stalled = 0;  // rounds

    // Its sends. Indices of blocks: retired <= consumed <= limit.
    std::uint16_t limit = 0;  // by the bell, or enabled
    std::uint16_t consumed = 0;
    std::uint16_t retired = 0;
    std::uint16_t fetched_to = 0;
    std::deque<Fetched> fetched;
    std::deque<Pending> pending;
    std::uint64_t next_serial = 0;
    std::deque<Message> messages;
    std::size_t to_send = 0;  // among messages
    std::uint32_t next_message = 0;
    unsigned hold = 0;  // rounds until it tries again
    unsigned silent = 0;
    bool stopping = false;  // a request has failed
    bool enabled_once = false;
    bool watched = false;  // Fault::enable_not_needed

    // What it receives.
    std::deque<Arrived> arrived;
    std::deque<Packet> answers;
    std::uint32_t expected = 0;
    std::uint64_t received = 0;
    bool has_receive = false;
    Span receive;
    std::uint16_t receive_index = 0;
    std::uint16_t receive_consumed = 0;
    std::uint16_t receive_limit = 0;
    std::deque<Received> done;
    std::deque<Late> late;
    std::deque<std::uint16_t> on_wire;  // receives that the wire has

    bool quiet() const {
        return consumed == limit && pending.empty() && arrived.empty() && answers.empty() && done.empty() &&
               late.empty() && !(stopping && state != State::failed) && !watched;
    }
};

}  // namespace lapwing::mlx5_double
