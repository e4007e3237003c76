// How much memory the queues to peers take, and how long they may be for it. All of it is pinned.
#pragma once

#include <cstdint>

namespace lapwing::mlx5 {

// Of one lane, if its lists have all ranks as peers; lanes for lists with fewer take less.
constexpr std::uint64_t max_bytes_of_lane = std::uint64_t{16} << 20;
// Shorter ones take no less memory, since rings begin at pages.
constexpr std::uint32_t min_depth_of_peer = 32;

// A queue pair with so many requests and receives, and the completion queue of its receives.
constexpr std::uint64_t bytes_of_peer(std::uint32_t depth) {
    constexpr std::uint64_t block = 64, receive = 16, record = 64, page = 4096;
    const auto pages = [](std::uint64_t bytes) { return (bytes + page - 1) / page * page; };
    return pages(depth * (block + receive) + record) + pages(depth * block + record);
}

// A power of two, `most` where there is memory for it. 0: the group has too many ranks.
constexpr std::uint32_t depth_of_peers(int ranks, std::uint32_t most) {
    const std::uint64_t peers = ranks > 1 ? static_cast<std::uint64_t>(ranks - 1) : 1;
    std::uint32_t depth = most;
    while (depth > min_depth_of_peer && peers * bytes_of_peer(depth) > max_bytes_of_lane) depth /= 2;
    return peers * bytes_of_peer(depth) > max_bytes_of_lane ? 0 : depth;
}

}  // namespace lapwing::mlx5
