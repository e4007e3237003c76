#include "program/mpi/exchange.hpp"

#include <fmt/format.h>

#include <limits>

#include "base/error.hpp"
#include "program/mpi/data.hpp"
#include "program/mpi/traffic.hpp"

namespace lapwing::bench {

void Caller::wait(MPI_Request& request) const {
    if (direct) {
        PMPI_Wait(&request, MPI_STATUS_IGNORE);
    } else {
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
}

bool Caller::test(MPI_Request& request) const {
    int done = 0;
    if (direct) {
        PMPI_Test(&request, &done, MPI_STATUS_IGNORE);
    } else {
        MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    }
    return done != 0;
}

void Exchange::Side::make(const std::vector<std::uint64_t>& lengths_of_blocks) {
    lengths = lengths_of_blocks;
    std::uint64_t place = 0;
    for (const std::uint64_t length : lengths) {
        places.push_back(place);
        place += length;
    }
    buffer.resize(place);
}

void Exchange::Side::tell_mpi() {
    if (buffer.size() > static_cast<std::uint64_t>(std::numeric_limits<int>::max())) {
        throw Error(ErrorCode::invalid_argument,
                    "uneven blocks together have 2Gi bytes or more, which MPI's displacements do not reach; "
                    "take smaller blocks");
    }
    counts.assign(lengths.begin(), lengths.end());
    displacements.assign(places.begin(), places.end());
}

Exchange::Exchange(Collective collective, std::uint64_t bytes, int rank, int ranks, int root)
    : collective_(collective), bytes_(bytes), rank_(rank), ranks_(ranks), root_(root) {
    std::vector<std::uint64_t> to;
    std::vector<std::uint64_t> from;
    for (int peer = 0; peer < ranks; ++peer) {
        to.push_back(block_bytes(collective, bytes, rank, peer, root));
        from.push_back(block_bytes(collective, bytes, peer, rank, root));
    }
    switch (collective) {
        case Collective::barrier:
            break;
        case Collective::broadcast:
            in_.make({bytes});
            break;
        case Collective::allreduce:
            out_.make({vector_bytes(bytes)});
            in_.make({vector_bytes(bytes)});
            break;
        case Collective::allgather:
            out_.make({bytes});
            in_.make(from);
            break;
        default:  // a block for each peer
            out_.make(to);
            in_.make(from);
            break;
    }
    if (collective == Collective::gatherv || collective == Collective::alltoallv) {
        out_.tell_mpi();
        in_.tell_mpi();
    }
}

void Exchange::fill(std::uint64_t iteration) {
    iteration_ = iteration;
    switch (collective_) {
        case Collective::barrier:
            break;
        case Collective::broadcast:
            if (rank_ == root_) fill_block(in_.buffer.data(), bytes_, iteration, root_, to_all);
            break;
        case Collective::allreduce:
            fill_vector(out_.buffer.data(), out_.buffer.size(), iteration, rank_);
            break;
        case Collective::allgather:
            fill_block(out_.buffer.data(), bytes_, iteration, rank_, to_all);
            break;
        default:  // a block for each peer
            for (int peer = 0; peer < ranks_; ++peer) {
                const auto which = static_cast<std::size_t>(peer);
                if (out_.lengths[which] == 0) continue;
                fill_block(out_.buffer.data() + out_.places[which], out_.lengths[which], iteration, rank_,
                           peer);
            }
            break;
    }
}

// Gives `act` the nonblocking function, the blocking one, and what both take.
template <typename Act>
void Exchange::with_arguments(const Caller& caller, Act act) {
    const int count = static_cast<int>(bytes_);
    const bool direct = caller.direct;
    const MPI_Comm where = caller.communicator;
    const void* out = out_.buffer.data();
    void* in = in_.buffer.data();
    switch (collective_) {
        case Collective::barrier:
            act(direct ? PMPI_Ibarrier : MPI_Ibarrier, direct ? PMPI_Barrier : MPI_Barrier, where);
            break;
        case Collective::broadcast:
            act(direct ? PMPI_Ibcast : MPI_Ibcast, direct ? PMPI_Bcast : MPI_Bcast, in, count, MPI_BYTE,
                root_, where);
            break;
        case Collective::gather:
            act(direct ? PMPI_Igather : MPI_Igather, direct ? PMPI_Gather : MPI_Gather, out, count, MPI_BYTE,
                in, count, MPI_BYTE, root_, where);
            break;
        case Collective::gatherv:
            act(direct ? PMPI_Igatherv : MPI_Igatherv, direct ? PMPI_Gatherv : MPI_Gatherv, out,
                out_.counts[static_cast<std::size_t>(root_)], MPI_BYTE, in, in_.counts.data(),
                in_.displacements.data(), MPI_BYTE, root_, where);
            break;
        case Collective::scatter:
            act(direct ? PMPI_Iscatter : MPI_Iscatter, direct ? PMPI_Scatter : MPI_Scatter, out, count,
                MPI_BYTE, in, count, MPI_BYTE, root_, where);
            break;
        case Collective::allgather:
            act(direct ? PMPI_Iallgather : MPI_Iallgather, direct ? PMPI_Allgather : MPI_Allgather, out,
                count, MPI_BYTE, in, count, MPI_BYTE, where);
            break;
        case Collective::alltoall:
            act(direct ? PMPI_Ialltoall : MPI_Ialltoall, direct ? PMPI_Alltoall : MPI_Alltoall, out, count,
                MPI_BYTE, in, count, MPI_BYTE, where);
            break;
        case Collective::alltoallv:
            act(direct ? PMPI_Ialltoallv : MPI_Ialltoallv, direct ? PMPI_Alltoallv : MPI_Alltoallv, out,
                out_.counts.data(), out_.displacements.data(), MPI_BYTE, in, in_.counts.data(),
                in_.displacements.data(), MPI_BYTE, where);
            break;
        case Collective::allreduce:
            act(direct ? PMPI_Iallreduce : MPI_Iallreduce, direct ? PMPI_Allreduce : MPI_Allreduce, out, in,
                static_cast<int>(out_.buffer.size() / sizeof(double)), MPI_DOUBLE, MPI_SUM, where);
            break;
        default:
            throw Error(ErrorCode::unsupported, fmt::format("{} is not measured", mpi_name(collective_)));
    }
}

void Exchange::start(const Caller& caller, MPI_Request& request) {
    with_arguments(caller, [&request](auto nonblocking, auto, auto... arguments) {
        nonblocking(arguments..., &request);
    });
}

void Exchange::call(const Caller& caller) {
    with_arguments(caller, [](auto, auto blocking, auto... arguments) { blocking(arguments...); });
}

void Exchange::refuse(const Caller& caller, std::uint64_t byte, const std::string& of) const {
    throw Error(
        ErrorCode::internal,
        fmt::format("{} of {} bytes by engine {}: wrong data on rank {} in exchange {}: byte {} of {}",
                    mpi_name(collective_), bytes_, caller.engine, rank_, iteration_, byte, of));
}

void Exchange::check(const Caller& caller) const {
    const auto check_block = [&](std::uint64_t place, std::uint64_t length, int from, int to) {
        if (length == 0) return;
        const std::uint64_t wrong = first_wrong(in_.buffer.data() + place, length, iteration_, from, to);
        if (wrong != length) refuse(caller, wrong, fmt::format("what rank {} sent", from));
    };
    switch (collective_) {
        case Collective::barrier:
            break;
        case Collective::broadcast:
            check_block(0, bytes_, root_, to_all);
            break;
        case Collective::allreduce: {
            const std::uint64_t length = in_.buffer.size();
            const std::uint64_t wrong = first_wrong_of_sum(in_.buffer.data(), length, iteration_, ranks_);
            if (wrong != length) refuse(caller, wrong, "the sum");
            break;
        }
        default:  // a block from each peer
            for (int peer = 0; peer < ranks_; ++peer) {
                const auto which = static_cast<std::size_t>(peer);
                check_block(in_.places[which], in_.lengths[which], peer,
                            collective_ == Collective::allgather ? to_all : rank_);
            }
            break;
    }
}

void Exchange::corrupt() {
    if (!in_.buffer.empty()) in_.buffer.back() ^= 1U;
}

}  // namespace lapwing::bench
