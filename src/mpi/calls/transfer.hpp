// The data that a rank passes to a collective, as the profile and its recordings describe them.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <utility>
#include <vector>

namespace lapwing {

struct Transfer {
    std::uint64_t bytes = 0;     // in the profile: of this rank's own block or blocks
    std::uint64_t sent = 0;      // in the recording, see recording::Call
    std::uint64_t received = 0;  // the same
    bool in_place = false;
    MPI_Datatype type = MPI_DATATYPE_NULL;  // of a reduction
    MPI_Op operation = MPI_OP_NULL;         // the same
    // Bytes for each peer, where blocks differ.
    std::vector<std::uint64_t> sent_counts{};
    std::vector<std::uint64_t> received_counts{};
};

// The ranks with which a rank exchanges data.
struct CallPeers {
    int rank = 0;   // this rank's own
    int ranks = 0;  // of the communicator; of an intercommunicator, those of the remote group
    bool intercommunicator = false;
    int sources = 0;  // neighbors
    int destinations = 0;

    bool is_root(int root) const { return intercommunicator ? root == MPI_ROOT : root == rank; }
};

// Returns 0 for wrong arguments.
inline std::uint64_t bytes_of(MPI_Count count, MPI_Datatype type) {
    int size = 0;
    if (count <= 0 || type == MPI_DATATYPE_NULL || PMPI_Type_size(type, &size) != MPI_SUCCESS || size < 0)
        return 0;
    return static_cast<std::uint64_t>(count) * static_cast<std::uint64_t>(size);
}

// Bytes that one argument describes: of one block, or of all blocks where they differ.
struct Volume {
    std::uint64_t bytes = 0;
    std::vector<std::uint64_t> counts{};  // of each block, where they differ
    void add(std::uint64_t block) {
        bytes += block;
        counts.push_back(block);
    }
};

// Describes a collective of two arguments. `destinations`, `sources`: the number of peers, or no_part: this
// rank does not send or does not receive, and the argument may be undefined.
constexpr int no_part = -1;
template <typename Sent, typename Received>
Transfer transfer_of(const Sent& sent, int destinations, const Received& received, int sources) {
    const bool sends = destinations != no_part;
    const bool receives = sources != no_part;
    const bool sent_in_place = sends && sent.in_place();
    const bool received_in_place = receives && received.in_place();
    Volume out = sends && !sent_in_place ? sent.volume(destinations) : Volume();
    Volume in = receives && !received_in_place ? received.volume(sources) : Volume();
    if constexpr (Sent::has_parts == Received::has_parts) {
        // The blocks are in the buffer of the other argument.
        if (sent_in_place) out.bytes = in.bytes;
        if (received_in_place) in.bytes = out.bytes;
    }
    const bool scatters_parts = Sent::has_parts && !Received::has_parts;
    return {.bytes = sends && !scatters_parts ? out.bytes : in.bytes,
            .sent = out.bytes,
            .received = in.bytes,
            .in_place = sent_in_place || received_in_place,
            .sent_counts = std::move(out.counts),
            .received_counts = std::move(in.counts)};
}

}  // namespace lapwing
