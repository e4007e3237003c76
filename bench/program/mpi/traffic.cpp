#include "program/mpi/traffic.hpp"

#include <algorithm>

namespace lapwing::bench {
namespace {

std::uint64_t uneven(std::uint64_t bytes, int from, int to) {
    return (from + to) % 2 == 0 ? bytes - bytes / 2 : bytes + bytes / 2;
}

// Of the vector that is summed, a rank's share and a peer's.
std::uint64_t both_shares(std::uint64_t bytes, int rank, int peer, int ranks) {
    const std::uint64_t elements = vector_bytes(bytes) / sizeof(double);
    const auto first = [&](int which) {
        return elements * static_cast<std::uint64_t>(which) / static_cast<std::uint64_t>(ranks);
    };
    const auto share = [&](int owner) { return first(owner + 1) - first(owner); };
    return (share(rank) + share(peer)) * sizeof(double);
}

}  // namespace

std::uint64_t vector_bytes(std::uint64_t bytes) {
    return (bytes + sizeof(double) - 1) / sizeof(double) * sizeof(double);
}

std::uint64_t block_bytes(Collective collective, std::uint64_t bytes, int from, int to, int root) {
    switch (collective) {
        case Collective::gather:
            return to == root ? bytes : 0;
        case Collective::gatherv:
            return to == root ? uneven(bytes, from, to) : 0;
        case Collective::scatter:
            return from == root ? bytes : 0;
        case Collective::allgather:
        case Collective::alltoall:
            return bytes;
        case Collective::alltoallv:
            return uneven(bytes, from, to);
        default:
            return 0;
    }
}

std::uint64_t Traffic::bytes() const {
    std::uint64_t sum = 0;
    for (const Send& send : sends) sum += send.bytes;
    for (const Receive& receive : receives) sum += receive.bytes;
    return sum;
}

std::uint64_t Traffic::longest() const {
    std::uint64_t most = 0;
    for (const Send& send : sends) most = std::max(most, send.bytes);
    for (const Receive& receive : receives) most = std::max(most, receive.bytes);
    return most;
}

Traffic traffic_of(Collective collective, std::uint64_t bytes, int rank, int ranks, int root) {
    Traffic traffic;
    const auto at = [&](int distance) { return ((rank + distance) % ranks + ranks) % ranks; };
    const auto receive = [&](int peer, std::uint64_t length) {
        if (length != 0) traffic.receives.push_back({peer, length});
    };
    const auto send = [&](int peer, std::uint64_t length) {
        if (length != 0) traffic.sends.push_back({peer, length, 0});
    };
    switch (collective) {
        case Collective::barrier: {
            int step = 0;
            for (int distance = 1; distance < ranks; distance *= 2, ++step) {
                traffic.receives.push_back({at(-distance), 1});
                traffic.sends.push_back({at(distance), 1, step});
            }
            break;
        }
        case Collective::broadcast: {
            // Counted from the root: a rank's parent lacks its lowest bit, its children have one more below.
            const int own = at(-root);
            int bit = 1;
            while (bit < ranks && (own & bit) == 0) bit *= 2;
            if (own != 0) traffic.receives.push_back({(own - bit + root) % ranks, bytes});
            for (bit /= 2; bit > 0; bit /= 2) {
                if (own + bit < ranks) {
                    traffic.sends.push_back({(own + bit + root) % ranks, bytes, own == 0 ? 0 : 1});
                }
            }
            break;
        }
        case Collective::allreduce:
            for (int distance = 1; distance < ranks; ++distance) {
                receive(at(-distance), both_shares(bytes, rank, at(-distance), ranks));
                send(at(distance), both_shares(bytes, rank, at(distance), ranks));
            }
            break;
        default:  // blocks for each peer
            for (int distance = 1; distance < ranks; ++distance) {
                receive(at(-distance), block_bytes(collective, bytes, at(-distance), rank, root));
                send(at(distance), block_bytes(collective, bytes, rank, at(distance), root));
            }
            break;
    }
    return traffic;
}

}  // namespace lapwing::bench
