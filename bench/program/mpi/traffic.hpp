// The messages of a collective in its simplest form: sizes, peers, and what each rank moves.
#pragma once

#include <cstdint>
#include <vector>

#include "program/settings.hpp"

namespace lapwing::bench {

// Bytes of the vector that MPI_Iallreduce sums: whole elements, at least `bytes`.
std::uint64_t vector_bytes(std::uint64_t bytes);

// Bytes of the block that one rank has for another, or for itself; 0 when it has none. Uneven blocks are
// half a block shorter or longer than `bytes`, in turn. For collectives whose result is made of the blocks of
// several ranks, or goes to several: gathers, scatter, all-to-alls.
std::uint64_t block_bytes(Collective collective, std::uint64_t bytes, int from, int to, int root);

// Blocks go straight to their targets, a broadcast down the binomial tree, a barrier by dissemination; of the
// vector of an allreduce each rank gets its share from all, and gives the sum of it to all, which is one
// message of both here. At most one message to and from each peer.
struct Traffic {
    struct Send {
        int peer = 0;
        std::uint64_t bytes = 0;
        int after = 0;  // so many of the receives, in their order, come before
    };
    struct Receive {
        int peer = 0;
        std::uint64_t bytes = 0;
    };
    std::vector<Send> sends;
    std::vector<Receive> receives;

    std::uint64_t bytes() const;    // sent and received
    std::uint64_t longest() const;  // message; 0 without one
};
Traffic traffic_of(Collective collective, std::uint64_t bytes, int rank, int ranks, int root);

}  // namespace lapwing::bench
