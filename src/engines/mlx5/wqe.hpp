// Entries of ConnectX work and completion queues, byte for byte.
//
// A request is one block of 64 bytes (WQEBB): a control segment of 16 bytes, and segments after it by opcode.
// All fields are big-endian. tests/engines/mlx5/wqe_test.cpp lists the fields by two public sources.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engines/mlx5/device.hpp"

namespace lapwing::mlx5 {

enum class Opcode : std::uint8_t {
    write = 0x08,
    write_immediate = 0x09,
    send = 0x0a,
    wait = 0x0f,         // until a completion queue has so many entries
    enable_send = 0x17,  // let requests of a managed send queue run
};

// The position of a request. The index counts all blocks of the queue; the queue pair is named by its number.
struct Position {
    std::uint16_t index = 0;
    std::uint32_t queue_pair = 0;
};

struct Data {
    std::uint64_t address = 0;
    std::uint32_t bytes = 0;  // below 2^31
    std::uint32_t key = 0;
};

struct RemoteData {
    std::uint64_t address = 0;
    std::uint32_t key = 0;
};

// Whether the card reports the completion of the request. It always reports errors.
enum class Report : bool { no, yes };

// Each fills one block. A message of no bytes has no data segment.
void put_send(std::byte* block, Position position, const Data& data, Report report);
void put_write(std::byte* block, Position position, const RemoteData& target, const Data& data,
               bool immediate, Report report);
// `last` is the index of the completion that the request waits for, in 24 bits, cyclically; the first one has
// 0.
void put_wait(std::byte* block, Position position, std::uint32_t completion_queue, std::uint32_t last,
              Report report);
// `end` is the index after the last block that may run, as a producer index.
void put_enable(std::byte* block, Position position, std::uint32_t queue_pair, std::uint16_t end,
                Report report);
// An entry of a receive queue, receive_bytes long.
void put_receive(std::byte* entry, const Data& data);

// Change what differs when a request is posted again.
void move_to(std::byte* block, std::uint16_t index);
void wait_for(std::byte* block, std::uint32_t last);
void enable_up_to(std::byte* block, std::uint16_t end);
// The value for the bell: the first 8 bytes of the control segment, as they are in memory.
std::uint64_t bell_value(const std::byte* block);

// The doorbell records.
void store_record(volatile std::uint32_t* word, std::uint32_t value);

// An entry of a completion queue that the card has written.
struct Completion {
    bool received = false;  // of a receive queue; otherwise of a send queue
    bool error = false;
    std::uint8_t syndrome = 0;  // of an error
    std::uint32_t queue_pair = 0;
    std::uint16_t index = 0;  // of the request
    std::uint32_t bytes = 0;  // received
};

// The entry of that index, if the card has written it in this lap.
std::optional<Completion> completion(const CompletionQueue& queue, std::uint32_t index);
// "local protection error"
std::string syndrome_in_words(std::uint8_t syndrome);

// One decoded field of a request.
struct Field {
    std::uint32_t offset = 0;  // in bytes
    std::uint32_t bytes = 0;
    std::string name;
    std::string value;
};

std::vector<Field> fields_of(const std::byte* block);

}  // namespace lapwing::mlx5
