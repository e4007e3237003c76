#include "engines/mlx5/wqe.hpp"

#include <fmt/format.h>

#include <bit>
#include <cstring>
#include <map>

namespace lapwing::mlx5 {
namespace {

constexpr std::uint8_t report_completion = 0x08;  // in fm_ce_se
constexpr std::uint32_t no_data = 0x100;          // the key that ends a list of data segments
constexpr std::uint32_t index_bits = 0xffffff;    // of completions
constexpr std::uint32_t number_bits = 0xffffff;   // of queues
constexpr std::size_t wait_index = 24;            // max_index of WAIT and SEND_EN
constexpr std::size_t wait_object = 28;           // the queue that they name
constexpr std::uint32_t no_immediate = 0;         // no receiver reads it

template <typename Number>
constexpr Number big_endian(Number number) {
    static_assert(std::endian::native == std::endian::little, "this encoder is for little-endian machines");
    if constexpr (sizeof(Number) == 8) return __builtin_bswap64(number);
    if constexpr (sizeof(Number) == 4) return __builtin_bswap32(number);
    if constexpr (sizeof(Number) == 2) return __builtin_bswap16(number);
}

template <typename Number>
void put(std::byte* at, Number number) {
    number = big_endian(number);
    std::memcpy(at, &number, sizeof number);
}

template <typename Number>
Number get(const std::byte* at) {
    Number number;
    std::memcpy(&number, at, sizeof number);
    return big_endian(number);
}

// The first word: opmod, index, opcode.
std::uint32_t first_word(Opcode opcode, std::uint16_t index) {
    return std::uint32_t{index} << 8 | static_cast<std::uint32_t>(opcode);
}

void put_control(std::byte* block, Opcode opcode, Position position, std::uint32_t segments, Report report) {
    put(block, first_word(opcode, position.index));
    put(block + 4, position.queue_pair << 8 | segments);
    put(block + 8, std::uint32_t{report == Report::yes ? report_completion : std::uint8_t{0}});
    put(block + 12, no_immediate);
}

void put_data(std::byte* segment, const Data& data) {
    put(segment, data.bytes);
    put(segment + 4, data.key);
    put(segment + 8, data.address);
}

void put_waiting(std::byte* block, std::uint32_t index, std::uint32_t object) {
    std::memset(block + 16, 0, 8);
    put(block + wait_index, index);
    put(block + wait_object, object & number_bits);
}

const char* name(std::uint8_t opcode) {
    static const std::map<Opcode, const char*> names = {{Opcode::write, "RDMA_WRITE"},
                                                        {Opcode::write_immediate, "RDMA_WRITE_IMM"},
                                                        {Opcode::send, "SEND"},
                                                        {Opcode::wait, "WAIT"},
                                                        {Opcode::enable_send, "SEND_EN"}};
    const auto found = names.find(static_cast<Opcode>(opcode));
    return found != names.end() ? found->second : "unknown";
}

}  // namespace

void put_send(std::byte* block, Position position, const Data& data, Report report) {
    put_control(block, Opcode::send, position, data.bytes > 0 ? 2 : 1, report);
    if (data.bytes > 0) put_data(block + 16, data);
}

void put_write(std::byte* block, Position position, const RemoteData& target, const Data& data,
               bool immediate, Report report) {
    put_control(block, immediate ? Opcode::write_immediate : Opcode::write, position, data.bytes > 0 ? 3 : 2,
                report);
    put(block + 16, target.address);
    put(block + 24, target.key);
    put(block + 28, std::uint32_t{0});
    if (data.bytes > 0) put_data(block + 32, data);
}

void put_wait(std::byte* block, Position position, std::uint32_t completion_queue, std::uint32_t last,
              Report report) {
    put_control(block, Opcode::wait, position, 2, report);
    put_waiting(block, last & index_bits, completion_queue);
}

void put_enable(std::byte* block, Position position, std::uint32_t queue_pair, std::uint16_t end,
                Report report) {
    put_control(block, Opcode::enable_send, position, 2, report);
    put_waiting(block, end, queue_pair);
}

void put_receive(std::byte* entry, const Data& data) {
    // A segment of no bytes would be one of 2^31.
    put_data(entry, data.bytes > 0 ? data : Data{0, 0, no_data});
}

void move_to(std::byte* block, std::uint16_t index) {
    put(block + 1, index);
}

void wait_for(std::byte* block, std::uint32_t last) {
    put(block + wait_index, last & index_bits);
}

void enable_up_to(std::byte* block, std::uint16_t end) {
    put(block + wait_index, std::uint32_t{end});
}

std::uint64_t bell_value(const std::byte* block) {
    std::uint64_t value;
    std::memcpy(&value, block, sizeof value);
    return value;
}

void store_record(volatile std::uint32_t* word, std::uint32_t value) {
    order_stores_for_the_card();
    __atomic_store_n(word, big_endian(value), __ATOMIC_RELEASE);  // requests before their index
}

std::optional<Completion> completion(const CompletionQueue& queue, std::uint32_t index) {
    constexpr std::uint8_t invalid = 0xf;
    constexpr std::uint8_t responder_first = 1, responder_last = 4, error = 0xd, responder_error = 0xe;
    const std::byte* const entry = queue.memory + std::size_t{index & (queue.entries - 1)} * block_bytes;
    const std::uint8_t owner =
        __atomic_load_n(reinterpret_cast<const std::uint8_t*>(entry) + 63, __ATOMIC_ACQUIRE);
    const std::uint8_t opcode = owner >> 4;
    const bool odd_lap = (index & queue.entries) != 0;
    if (opcode == invalid || ((owner & 1) != 0) != odd_lap) return std::nullopt;
    order_reads_of_the_card();
    Completion completion;
    completion.error = opcode == error || opcode == responder_error;
    completion.received =
        opcode == responder_error || (opcode >= responder_first && opcode <= responder_last);
    completion.syndrome = completion.error ? static_cast<std::uint8_t>(entry[55]) : std::uint8_t{0};
    completion.queue_pair = get<std::uint32_t>(entry + 56) & number_bits;
    completion.index = get<std::uint16_t>(entry + 60);
    completion.bytes = get<std::uint32_t>(entry + 44);
    return completion;
}

std::string syndrome_in_words(std::uint8_t syndrome) {
    static const std::map<std::uint8_t, const char*> words = {
        {0x01, "local length error"},
        {0x02, "local queue pair operation error"},
        {0x04, "local protection error"},
        {0x05, "flushed: the queue pair had failed before"},
        {0x06, "memory window bind error"},
        {0x10, "bad response"},
        {0x11, "local access error"},
        {0x12, "remote invalid request"},
        {0x13, "remote access error"},
        {0x14, "remote operation error"},
        {0x15, "the peer does not answer"},
        {0x16, "the peer has posted no receive"},
        {0x22, "remote aborted"}};
    const auto found = words.find(syndrome);
    return found != words.end() ? found->second : fmt::format("syndrome {:#04x}", syndrome);
}

std::vector<Field> fields_of(const std::byte* block) {
    std::vector<Field> fields;
    const auto add = [&](std::uint32_t offset, std::uint32_t bytes, const char* name, std::string value) {
        fields.push_back({offset, bytes, name, std::move(value)});
    };
    const std::uint8_t opcode = static_cast<std::uint8_t>(block[3]);
    const std::uint32_t word = get<std::uint32_t>(block + 4);
    add(0, 1, "opmod", fmt::format("{}", static_cast<int>(block[0])));
    add(1, 2, "index", fmt::format("{}", get<std::uint16_t>(block + 1)));
    add(3, 1, "opcode", fmt::format("{:#04x} {}", opcode, name(opcode)));
    add(4, 3, "queue pair", fmt::format("{:#08x}", word >> 8));
    add(7, 1, "segments of 16 bytes", fmt::format("{}", word & 0xff));
    add(8, 3, "signature, stream", fmt::format("{}", get<std::uint32_t>(block + 8) >> 8));
    const bool reports = (static_cast<std::uint8_t>(block[11]) & report_completion) != 0;
    add(11, 1, "fence, completion",
        fmt::format("{:#04x}{}", static_cast<int>(block[11]), reports ? " reports" : " reports errors only"));
    add(12, 4, "immediate", fmt::format("{}", get<std::uint32_t>(block + 12)));
    const auto add_data = [&](std::uint32_t offset) {
        add(offset, 4, "bytes", fmt::format("{}", get<std::uint32_t>(block + offset)));
        add(offset + 4, 4, "local key", fmt::format("{:#x}", get<std::uint32_t>(block + offset + 4)));
        add(offset + 8, 8, "address", fmt::format("{:#x}", get<std::uint64_t>(block + offset + 8)));
    };
    std::uint32_t data = 16;
    switch (static_cast<Opcode>(opcode)) {
        case Opcode::wait:
        case Opcode::enable_send: {
            const bool waits = static_cast<Opcode>(opcode) == Opcode::wait;
            add(16, 8, "reserved", fmt::format("{}", get<std::uint64_t>(block + 16)));
            add(24, 4, waits ? "completion waited for" : "first block not enabled",
                fmt::format("{}", get<std::uint32_t>(block + wait_index)));
            add(28, 4, waits ? "completion queue" : "queue pair enabled",
                fmt::format("{:#08x}", get<std::uint32_t>(block + wait_object)));
            return fields;
        }
        case Opcode::write:
        case Opcode::write_immediate:
            add(16, 8, "remote address", fmt::format("{:#x}", get<std::uint64_t>(block + 16)));
            add(24, 4, "remote key", fmt::format("{:#x}", get<std::uint32_t>(block + 24)));
            add(28, 4, "reserved", fmt::format("{}", get<std::uint32_t>(block + 28)));
            data = 32;
            break;
        case Opcode::send:
            break;
    }
    if ((word & 0xff) * 16 > data) add_data(data);
    return fields;
}

}  // namespace lapwing::mlx5
