// How many bytes of its own a rank passes to a collective, for the profile.
#pragma once

#include <mpi.h>

#include <cstdint>

namespace lapwing {

// The ranks with which a rank exchanges data.
struct CallPeers {
    int rank = 0;   // this rank's own
    int ranks = 0;  // of the communicator; of an intercommunicator, those of the remote group
    bool intercommunicator = false;
    int sources = 0;  // neighbors
    int destinations = 0;

    bool is_root(int root) const { return intercommunicator ? root == MPI_ROOT : root == rank; }
};

// Smaller messages travel through buffers of the MPI and of the kernel without its progress.
inline constexpr std::uint64_t large_message = 32 * 1024;

// Returns 0 for wrong arguments.
inline std::uint64_t bytes_of(MPI_Count count, MPI_Datatype type) {
    int size = 0;
    if (count <= 0 || type == MPI_DATATYPE_NULL || PMPI_Type_size(type, &size) != MPI_SUCCESS || size < 0)
        return 0;
    return static_cast<std::uint64_t>(count) * static_cast<std::uint64_t>(size);
}

// Of a collective of two arguments: the bytes of this rank's own block or blocks. `destinations`, `sources`:
// the number of peers, or no_part: this rank does not send or does not receive, and the argument may be
// undefined.
constexpr int no_part = -1;
template <typename Sent, typename Received>
std::uint64_t profiled_bytes_of(const Sent& sent, int destinations, const Received& received, int sources) {
    const bool sends = destinations != no_part;
    const bool receives = sources != no_part;
    const bool sent_in_place = sends && sent.in_place();
    const std::uint64_t out = sends && !sent_in_place ? sent.profiled_bytes(destinations) : 0;
    const std::uint64_t in = receives && !received.in_place() ? received.profiled_bytes(sources) : 0;
    constexpr bool scatters_parts = Sent::has_parts && !Received::has_parts;
    if (!sends || scatters_parts) return in;
    // In place, the blocks are in the buffer of the other argument.
    return sent_in_place && Sent::has_parts == Received::has_parts ? in : out;
}

}  // namespace lapwing
