// What the processes of a job exchange before they connect: addresses, and the key of the job.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "links/tcp/options.hpp"

namespace lapwing::tcp {

using Key = std::array<unsigned char, 32>;
Key random_key();

struct IpAddress {
    std::uint8_t bytes[16];  // IPv4 in the first four
    std::uint8_t family;     // 4, 6; 0: none
    std::uint8_t prefix;     // length of its network's prefix, bits
    std::uint8_t loopback;
    std::uint8_t reserved;
};

// The address of a process' endpoint. Plain bytes of a fixed size, for an allgather.
struct Address {
    static constexpr std::size_t max_ips = 6;
    IpAddress ips[max_ips];
    std::uint64_t host;  // equal for processes on one host (same kernel and same network namespace)
    std::uint16_t port;
    char name[46];  // of the host, for messages; ends with zero
};
static_assert(std::is_trivially_copyable_v<Address>);

// Data that the parts of an endpoint share. They do not change after the first connection.
struct Job {
    Options options;
    Address own;
    Key key{};  // zeroed by the destructor
    std::vector<Address> members;
    int self = -1;  // -1: admit() was not called yet

    Job() = default;
    Job& operator=(Job&&) = delete;
    ~Job();
};

}  // namespace lapwing::tcp
