#include "tune/call.hpp"

#include <fmt/format.h>

#include <limits>

#include "base/error.hpp"

namespace lapwing::tune {

Call::Call(Collective collective, std::uint64_t bytes, int ranks) : collective_(collective) {
    const bool reduces = is_reduction(collective);
    const std::uint64_t elements = reduces ? (bytes + sizeof(double) - 1) / sizeof(double) : bytes;
    const std::size_t block = reduces ? elements * sizeof(double) : elements;
    count_ = static_cast<int>(elements);
    const auto all = block * static_cast<std::size_t>(ranks);
    if (all > static_cast<std::size_t>(std::numeric_limits<int>::max())) {
        throw_invalid(
            fmt::format("{} blocks of {} bytes exceed MPI's displacements; choose smaller blocks "
                        "with --bytes",
                        ranks, bytes));
    }
    // Zeros: their sums stay zeros, whatever is measured how often.
    in_.resize(all);
    out_.resize(all);
    for (int peer = 0; peer < ranks; ++peer) {
        counts_.push_back(count_);
        places_.push_back(peer * count_);
    }
}

// The MPI's function, and its arguments but for the communicator and the request.
#define START(collective, function, ...) \
    case Collective::collective:         \
        return function(__VA_ARGS__, where, &request)

int Call::start(MPI_Comm where, MPI_Request& request) {
    const void* in = in_.data();
    void* out = out_.data();
    const int* counts = counts_.data();
    const int* places = places_.data();
    switch (collective_) {
        START(broadcast, MPI_Ibcast, out, count_, MPI_BYTE, 0);
        START(gather, MPI_Igather, in, count_, MPI_BYTE, out, count_, MPI_BYTE, 0);
        START(gatherv, MPI_Igatherv, in, count_, MPI_BYTE, out, counts, places, MPI_BYTE, 0);
        START(scatter, MPI_Iscatter, in, count_, MPI_BYTE, out, count_, MPI_BYTE, 0);
        START(allgather, MPI_Iallgather, in, count_, MPI_BYTE, out, count_, MPI_BYTE);
        START(allgatherv, MPI_Iallgatherv, in, count_, MPI_BYTE, out, counts, places, MPI_BYTE);
        START(alltoall, MPI_Ialltoall, in, count_, MPI_BYTE, out, count_, MPI_BYTE);
        START(alltoallv, MPI_Ialltoallv, in, counts, places, MPI_BYTE, out, counts, places, MPI_BYTE);
        START(reduce, MPI_Ireduce, in, out, count_, MPI_DOUBLE, MPI_SUM, 0);
        START(allreduce, MPI_Iallreduce, in, out, count_, MPI_DOUBLE, MPI_SUM);
        START(reduce_scatter_block, MPI_Ireduce_scatter_block, in, out, count_, MPI_DOUBLE, MPI_SUM);
        START(reduce_scatter, MPI_Ireduce_scatter, in, out, counts, MPI_DOUBLE, MPI_SUM);
        START(scan, MPI_Iscan, in, out, count_, MPI_DOUBLE, MPI_SUM);
        START(exscan, MPI_Iexscan, in, out, count_, MPI_DOUBLE, MPI_SUM);
        case Collective::barrier:
            return MPI_Ibarrier(where, &request);
        case Collective::scatterv:
        case Collective::neighbor_allgather:
        case Collective::neighbor_alltoall:
            break;
    }
    throw Error(ErrorCode::unsupported, fmt::format("{} is not measured", mpi_name(collective_)));
}

}  // namespace lapwing::tune
