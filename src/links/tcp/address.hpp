// What the processes of a job tell each other before they connect: addresses, and the key of the job.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

namespace lapwing::tcp {

using Key = std::array<unsigned char, 32>;
Key random_key();

// What a process tells the others of its endpoint. Plain bytes of a fixed size, to be sent by an allgather.
struct Address {
    static constexpr std::size_t max_places = 6;
    struct Place {
        std::uint8_t bytes[16];  // IPv4 in the first four
        std::uint8_t family;     // 4, 6; 0: none
        std::uint8_t prefix;     // length of its network's prefix, bits
        std::uint8_t loopback;
        std::uint8_t reserved;
    };
    Place places[max_places];
    std::uint64_t host;  // equal for processes on one host (same kernel and same network namespace)
    std::uint16_t port;
    char name[46];  // of the host, for messages; ends with zero
};
static_assert(std::is_trivially_copyable_v<Address>);

// Whether all of them are on one host.
bool one_host(const std::vector<Address>& members);

}  // namespace lapwing::tcp
