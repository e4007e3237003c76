// All collectives. What a program may leave undefined at a rank is not looked at.
#include "mpi/calls/signatures.hpp"
#include "mpi/profile/profile.hpp"

namespace {

using lapwing::profile::blocking;
using lapwing::profile::bytes_of;
using lapwing::profile::nonblocking;
using lapwing::profile::persistent;
using lapwing::profile::Role;
using lapwing::profile::Root;

constexpr Root equal{};
constexpr Root gives(int root) {
    return {Role::gives, root};
}
constexpr Root takes(int root) {
    return {Role::takes, root};
}

int size_of(MPI_Comm communicator) {
    int inter = 0;
    int size = 0;
    PMPI_Comm_test_inter(communicator, &inter);
    if (inter != 0)
        PMPI_Comm_remote_size(communicator, &size);
    else
        PMPI_Comm_size(communicator, &size);
    return size;
}

// What is sent, or, in place, what stands in the other buffer.
std::uint64_t own(const void* sent, std::uint64_t count, MPI_Datatype type, std::uint64_t received,
                  MPI_Datatype received_type) {
    return sent == MPI_IN_PLACE ? bytes_of(received, received_type) : bytes_of(count, type);
}

template <typename Count>
std::uint64_t sum(MPI_Comm communicator, const Count* counts) {
    std::uint64_t all = 0;
    const int size = counts == nullptr ? 0 : size_of(communicator);
    for (int i = 0; i < size; ++i) all += static_cast<std::uint64_t>(counts[i]);
    return all;
}

template <typename Count>
std::uint64_t typed_sum(MPI_Comm communicator, const Count* counts, const MPI_Datatype* types) {
    std::uint64_t all = 0;
    const int size = counts == nullptr ? 0 : size_of(communicator);
    for (int i = 0; i < size; ++i) {
        if (counts[i] > 0) all += bytes_of(static_cast<std::uint64_t>(counts[i]), types[i]);
    }
    return all;
}

template <typename Count>
std::uint64_t elements(Count count) {
    return count < 0 ? 0 : static_cast<std::uint64_t>(count);
}

}  // namespace

#define LAPWING_PROFILED_INIT(Init, root_of_it, bytes, parameters, names)                          \
    LAPWING_MPI Init(LAPWING_LIST parameters MPI_Comm comm, MPI_Info info, MPI_Request* request) { \
        return persistent(                                                                         \
            #Init, comm, request, root_of_it, [&]() -> std::uint64_t { return bytes; },            \
            [&] { return LAPWING_NEXT_INIT(Init)(LAPWING_LIST names comm, info, request); });      \
    }

#ifdef OPEN_MPI
#define LAPWING_PROFILED_EXTENSION(...) LAPWING_PROFILED_INIT(__VA_ARGS__)
#else
#define LAPWING_PROFILED_EXTENSION(...)
#endif

#define LAPWING_PROFILED(Nonblocking, Blocking, suffix, root_of_it, bytes, parameters, names)            \
    LAPWING_MPI MPI_##Blocking##suffix(LAPWING_LIST parameters MPI_Comm comm) {                          \
        return blocking(                                                                                 \
            "MPI_" #Blocking #suffix, __builtin_return_address(0), comm, root_of_it,                     \
            [&]() -> std::uint64_t { return bytes; },                                                    \
            [&] { return NEXT_##Blocking##suffix(LAPWING_LIST names comm); });                           \
    }                                                                                                    \
    LAPWING_MPI MPI_##Nonblocking##suffix(LAPWING_LIST parameters MPI_Comm comm, MPI_Request* request) { \
        return nonblocking(                                                                              \
            "MPI_" #Nonblocking #suffix, __builtin_return_address(0), comm, request, root_of_it,         \
            [&]() -> std::uint64_t { return bytes; },                                                    \
            [&] { return NEXT_##Nonblocking##suffix(LAPWING_LIST names comm, request); });               \
    }                                                                                                    \
    LAPWING_PROFILED_INIT(MPI_##Blocking##_init##suffix, root_of_it, (bytes), parameters, names)         \
    LAPWING_PROFILED_EXTENSION(MPIX_##Blocking##_init##suffix, root_of_it, (bytes), parameters, names)

LAPWING_PROFILED(Ibarrier, Barrier, , equal, 0, (), ())

#define LAPWING_PROFILED_ALL(suffix, Count)                                                                  \
    LAPWING_PROFILED(Ibcast, Bcast, suffix, gives(root), bytes_of(elements(count), type),                    \
                     (LAPWING_BUFFER(Count)), (LAPWING_BUFFER_NAMES))                                        \
    LAPWING_PROFILED(Igather, Gather, suffix, takes(root),                                                   \
                     own(sent, elements(send_count), send_type, elements(receive_count), receive_type),      \
                     (LAPWING_SENT(Count), LAPWING_RECEIVED(Count), int root),                               \
                     (LAPWING_SENT_NAMES, LAPWING_RECEIVED_NAMES, root))                                     \
    LAPWING_PROFILED(Igatherv, Gatherv, suffix, takes(root),                                                 \
                     sent == MPI_IN_PLACE ? 0 : bytes_of(elements(send_count), send_type),                   \
                     (LAPWING_SENT(Count), LAPWING_RECEIVED_BLOCKS(Count), int root),                        \
                     (LAPWING_SENT_NAMES, LAPWING_RECEIVED_BLOCKS_NAMES, root))                              \
    LAPWING_PROFILED(Iscatter, Scatter, suffix, gives(root),                                                 \
                     own(received, elements(receive_count), receive_type, elements(send_count), send_type),  \
                     (LAPWING_SENT(Count), LAPWING_RECEIVED(Count), int root),                               \
                     (LAPWING_SENT_NAMES, LAPWING_RECEIVED_NAMES, root))                                     \
    LAPWING_PROFILED(Iscatterv, Scatterv, suffix, gives(root),                                               \
                     received == MPI_IN_PLACE ? 0 : bytes_of(elements(receive_count), receive_type),         \
                     (LAPWING_SENT_BLOCKS(Count), LAPWING_RECEIVED(Count), int root),                        \
                     (LAPWING_SENT_BLOCKS_NAMES, LAPWING_RECEIVED_NAMES, root))                              \
    LAPWING_PROFILED(Iallgather, Allgather, suffix, equal,                                                   \
                     own(sent, elements(send_count), send_type, elements(receive_count), receive_type),      \
                     (LAPWING_SENT(Count), LAPWING_RECEIVED(Count)),                                         \
                     (LAPWING_SENT_NAMES, LAPWING_RECEIVED_NAMES))                                           \
    LAPWING_PROFILED(Iallgatherv, Allgatherv, suffix, equal,                                                 \
                     sent == MPI_IN_PLACE ? 0 : bytes_of(elements(send_count), send_type),                   \
                     (LAPWING_SENT(Count), LAPWING_RECEIVED_BLOCKS(Count)),                                  \
                     (LAPWING_SENT_NAMES, LAPWING_RECEIVED_BLOCKS_NAMES))                                    \
    LAPWING_PROFILED(Ialltoall, Alltoall, suffix, equal,                                                     \
                     own(sent, elements(send_count), send_type, elements(receive_count), receive_type),      \
                     (LAPWING_SENT(Count), LAPWING_RECEIVED(Count)),                                         \
                     (LAPWING_SENT_NAMES, LAPWING_RECEIVED_NAMES))                                           \
    LAPWING_PROFILED(Ialltoallv, Alltoallv, suffix, equal,                                                   \
                     own(sent, sent == MPI_IN_PLACE ? 0 : sum(comm, send_counts), send_type,                 \
                         sum(comm, receive_counts), receive_type),                                           \
                     (LAPWING_SENT_BLOCKS(Count), LAPWING_RECEIVED_BLOCKS(Count)),                           \
                     (LAPWING_SENT_BLOCKS_NAMES, LAPWING_RECEIVED_BLOCKS_NAMES))                             \
    LAPWING_PROFILED(Ialltoallw, Alltoallw, suffix, equal,                                                   \
                     sent == MPI_IN_PLACE ? typed_sum(comm, receive_counts, receive_types)                   \
                                          : typed_sum(comm, send_counts, send_types),                        \
                     (LAPWING_SENT_TYPED(Count, lapwing::DisplacementOf<Count>),                             \
                      LAPWING_RECEIVED_TYPED(Count, lapwing::DisplacementOf<Count>)),                        \
                     (LAPWING_SENT_TYPED_NAMES, LAPWING_RECEIVED_TYPED_NAMES))                               \
    LAPWING_PROFILED(Ireduce, Reduce, suffix, takes(root), bytes_of(elements(count), type),                  \
                     (LAPWING_OPERANDS(Count), int root), (LAPWING_OPERANDS_NAMES, root))                    \
    LAPWING_PROFILED(Iallreduce, Allreduce, suffix, equal, bytes_of(elements(count), type),                  \
                     (LAPWING_OPERANDS(Count)), (LAPWING_OPERANDS_NAMES))                                    \
    LAPWING_PROFILED(Iscan, Scan, suffix, equal, bytes_of(elements(count), type), (LAPWING_OPERANDS(Count)), \
                     (LAPWING_OPERANDS_NAMES))                                                               \
    LAPWING_PROFILED(Iexscan, Exscan, suffix, equal, bytes_of(elements(count), type),                        \
                     (LAPWING_OPERANDS(Count)), (LAPWING_OPERANDS_NAMES))                                    \
    LAPWING_PROFILED(Ireduce_scatter_block, Reduce_scatter_block, suffix, equal,                             \
                     bytes_of(elements(count), type), (LAPWING_OPERANDS(Count)), (LAPWING_OPERANDS_NAMES))   \
    LAPWING_PROFILED(Ireduce_scatter, Reduce_scatter, suffix, equal, bytes_of(sum(comm, count), type),       \
                     (LAPWING_OPERANDS(const Count*)), (LAPWING_OPERANDS_NAMES))                             \
    LAPWING_PROFILED(                                                                                        \
        Ineighbor_allgather, Neighbor_allgather, suffix, equal, bytes_of(elements(send_count), send_type),   \
        (LAPWING_SENT(Count), LAPWING_RECEIVED(Count)), (LAPWING_SENT_NAMES, LAPWING_RECEIVED_NAMES))        \
    LAPWING_PROFILED(Ineighbor_allgatherv, Neighbor_allgatherv, suffix, equal,                               \
                     bytes_of(elements(send_count), send_type),                                              \
                     (LAPWING_SENT(Count), LAPWING_RECEIVED_BLOCKS(Count)),                                  \
                     (LAPWING_SENT_NAMES, LAPWING_RECEIVED_BLOCKS_NAMES))                                    \
    LAPWING_PROFILED(                                                                                        \
        Ineighbor_alltoall, Neighbor_alltoall, suffix, equal, bytes_of(elements(send_count), send_type),     \
        (LAPWING_SENT(Count), LAPWING_RECEIVED(Count)), (LAPWING_SENT_NAMES, LAPWING_RECEIVED_NAMES))        \
    LAPWING_PROFILED(Ineighbor_alltoallv, Neighbor_alltoallv, suffix, equal, 0,                              \
                     (LAPWING_SENT_BLOCKS(Count), LAPWING_RECEIVED_BLOCKS(Count)),                           \
                     (LAPWING_SENT_BLOCKS_NAMES, LAPWING_RECEIVED_BLOCKS_NAMES))                             \
    LAPWING_PROFILED(Ineighbor_alltoallw, Neighbor_alltoallw, suffix, equal, 0,                              \
                     (LAPWING_SENT_TYPED(Count, MPI_Aint), LAPWING_RECEIVED_TYPED(Count, MPI_Aint)),         \
                     (LAPWING_SENT_TYPED_NAMES, LAPWING_RECEIVED_TYPED_NAMES))
LAPWING_WITH_COUNTS(LAPWING_PROFILED_ALL)
