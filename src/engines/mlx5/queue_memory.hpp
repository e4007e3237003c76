// The memory that queues to peers take, all of it pinned, and the depth that it allows.
#pragma once

#include <cstdint>

namespace lapwing::mlx5 {

// Of one lane whose lists have all ranks as peers; other lanes take less.
constexpr std::uint64_t max_bytes_of_lane = std::uint64_t{16} << 20;
// Shorter ones take no less memory, since rings begin at pages.
constexpr std::uint32_t min_depth_of_peer = 32;

// A queue pair with so many requests and receives, and the completion queue of its receives.
constexpr std::uint64_t bytes_of_peer(std::uint32_t depth) {
    constexpr std::uint64_t block = 64, receive = 16, record = 64, page = 4096;
    const auto pages = [](std::uint64_t bytes) { return (bytes + page - 1) / page * page; };
    return pages(depth * (block + receive) + record) + pages(depth * block + record);
}

// A power of two, at most `max_depth`. Returns 0 if the group has too many ranks.
constexpr std::uint32_t depth_of_peers(int ranks, std::uint32_t max_depth) {
    const std::uint64_t peers = ranks > 1 ? static_cast<std::uint64_t>(ranks - 1) : 1;
    std::uint32_t depth = max_depth;
    while (depth > min_depth_of_peer && peers * bytes_of_peer(depth) > max_bytes_of_lane) depth /= 2;
    return peers * bytes_of_peer(depth) > max_bytes_of_lane ? 0 : depth;
}

}  // namespace lapwing::mlx5
