// All collectives. What a program may leave undefined at a rank is not looked at.
#include "mpi/profile/profile.hpp"

namespace {

using lapwing::profile::blocking;
using lapwing::profile::bytes_of;
using lapwing::profile::nonblocking;

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

#define LAPWING_LIST(...) __VA_ARGS__
#define LAPWING_PROFILED(Nonblocking, Blocking, root_of_it, bytes, parameters, names)             \
    LAPWING_MPI MPI_##Blocking(LAPWING_LIST parameters, MPI_Comm comm) {                          \
        return blocking(                                                                          \
            "MPI_" #Blocking, __builtin_return_address(0), comm, root_of_it,                      \
            [&]() -> std::uint64_t { return bytes; },                                             \
            [&] { return PMPI_##Blocking(LAPWING_LIST names, comm); });                           \
    }                                                                                             \
    LAPWING_MPI MPI_##Nonblocking(LAPWING_LIST parameters, MPI_Comm comm, MPI_Request* request) { \
        return nonblocking(                                                                       \
            "MPI_" #Nonblocking, __builtin_return_address(0), comm, request, root_of_it,          \
            [&]() -> std::uint64_t { return bytes; },                                             \
            [&] { return PMPI_##Nonblocking(LAPWING_LIST names, comm, request); });               \
    }

LAPWING_MPI MPI_Barrier(MPI_Comm comm) {
    return blocking(
        "MPI_Barrier", __builtin_return_address(0), comm, equal, [] { return std::uint64_t{0}; },
        [&] { return PMPI_Barrier(comm); });
}
LAPWING_MPI MPI_Ibarrier(MPI_Comm comm, MPI_Request* request) {
    return nonblocking(
        "MPI_Ibarrier", __builtin_return_address(0), comm, request, equal, [] { return std::uint64_t{0}; },
        [&] { return PMPI_Ibarrier(comm, request); });
}

#define LAPWING_PROFILED_ALL(suffix, Count, Displacement)                                                   \
    LAPWING_PROFILED(Ibcast##suffix, Bcast##suffix, gives(root), bytes_of(elements(count), type),           \
                     (void* buffer, Count count, MPI_Datatype type, int root), (buffer, count, type, root)) \
    LAPWING_PROFILED(Igather##suffix, Gather##suffix, takes(root),                                          \
                     own(sent, elements(send_count), send_type, elements(receive_count), receive_type),     \
                     (const void* sent, Count send_count, MPI_Datatype send_type, void* received,           \
                      Count receive_count, MPI_Datatype receive_type, int root),                            \
                     (sent, send_count, send_type, received, receive_count, receive_type, root))            \
    LAPWING_PROFILED(                                                                                       \
        Igatherv##suffix, Gatherv##suffix, takes(root),                                                     \
        sent == MPI_IN_PLACE ? 0 : bytes_of(elements(send_count), send_type),                               \
        (const void* sent, Count send_count, MPI_Datatype send_type, void* received,                        \
         const Count* receive_counts, const Displacement* displacements, MPI_Datatype receive_type,         \
         int root),                                                                                         \
        (sent, send_count, send_type, received, receive_counts, displacements, receive_type, root))         \
    LAPWING_PROFILED(Iscatter##suffix, Scatter##suffix, gives(root),                                        \
                     own(received, elements(receive_count), receive_type, elements(send_count), send_type), \
                     (const void* sent, Count send_count, MPI_Datatype send_type, void* received,           \
                      Count receive_count, MPI_Datatype receive_type, int root),                            \
                     (sent, send_count, send_type, received, receive_count, receive_type, root))            \
    LAPWING_PROFILED(                                                                                       \
        Iscatterv##suffix, Scatterv##suffix, gives(root),                                                   \
        received == MPI_IN_PLACE ? 0 : bytes_of(elements(receive_count), receive_type),                     \
        (const void* sent, const Count* send_counts, const Displacement* displacements,                     \
         MPI_Datatype send_type, void* received, Count receive_count, MPI_Datatype receive_type, int root), \
        (sent, send_counts, displacements, send_type, received, receive_count, receive_type, root))         \
    LAPWING_PROFILED(Iallgather##suffix, Allgather##suffix, equal,                                          \
                     own(sent, elements(send_count), send_type, elements(receive_count), receive_type),     \
                     (const void* sent, Count send_count, MPI_Datatype send_type, void* received,           \
                      Count receive_count, MPI_Datatype receive_type),                                      \
                     (sent, send_count, send_type, received, receive_count, receive_type))                  \
    LAPWING_PROFILED(                                                                                       \
        Iallgatherv##suffix, Allgatherv##suffix, equal,                                                     \
        sent == MPI_IN_PLACE ? 0 : bytes_of(elements(send_count), send_type),                               \
        (const void* sent, Count send_count, MPI_Datatype send_type, void* received,                        \
         const Count* receive_counts, const Displacement* displacements, MPI_Datatype receive_type),        \
        (sent, send_count, send_type, received, receive_counts, displacements, receive_type))               \
    LAPWING_PROFILED(Ialltoall##suffix, Alltoall##suffix, equal,                                            \
                     own(sent, elements(send_count), send_type, elements(receive_count), receive_type),     \
                     (const void* sent, Count send_count, MPI_Datatype send_type, void* received,           \
                      Count receive_count, MPI_Datatype receive_type),                                      \
                     (sent, send_count, send_type, received, receive_count, receive_type))                  \
    LAPWING_PROFILED(Ialltoallv##suffix, Alltoallv##suffix, equal,                                          \
                     own(sent, sent == MPI_IN_PLACE ? 0 : sum(comm, send_counts), send_type,                \
                         sum(comm, receive_counts), receive_type),                                          \
                     (const void* sent, const Count* send_counts, const Displacement* send_displacements,   \
                      MPI_Datatype send_type, void* received, const Count* receive_counts,                  \
                      const Displacement* receive_displacements, MPI_Datatype receive_type),                \
                     (sent, send_counts, send_displacements, send_type, received, receive_counts,           \
                      receive_displacements, receive_type))                                                 \
    LAPWING_PROFILED(Ialltoallw##suffix, Alltoallw##suffix, equal,                                          \
                     sent == MPI_IN_PLACE ? typed_sum(comm, receive_counts, receive_types)                  \
                                          : typed_sum(comm, send_counts, send_types),                       \
                     (const void* sent, const Count* send_counts, const Displacement* send_displacements,   \
                      const MPI_Datatype* send_types, void* received, const Count* receive_counts,          \
                      const Displacement* receive_displacements, const MPI_Datatype* receive_types),        \
                     (sent, send_counts, send_displacements, send_types, received, receive_counts,          \
                      receive_displacements, receive_types))                                                \
    LAPWING_PROFILED(                                                                                       \
        Ireduce##suffix, Reduce##suffix, takes(root), bytes_of(elements(count), type),                      \
        (const void* sent, void* received, Count count, MPI_Datatype type, MPI_Op op, int root),            \
        (sent, received, count, type, op, root))                                                            \
    LAPWING_PROFILED(Iallreduce##suffix, Allreduce##suffix, equal, bytes_of(elements(count), type),         \
                     (const void* sent, void* received, Count count, MPI_Datatype type, MPI_Op op),         \
                     (sent, received, count, type, op))                                                     \
    LAPWING_PROFILED(Iscan##suffix, Scan##suffix, equal, bytes_of(elements(count), type),                   \
                     (const void* sent, void* received, Count count, MPI_Datatype type, MPI_Op op),         \
                     (sent, received, count, type, op))                                                     \
    LAPWING_PROFILED(Iexscan##suffix, Exscan##suffix, equal, bytes_of(elements(count), type),               \
                     (const void* sent, void* received, Count count, MPI_Datatype type, MPI_Op op),         \
                     (sent, received, count, type, op))                                                     \
    LAPWING_PROFILED(Ireduce_scatter_block##suffix, Reduce_scatter_block##suffix, equal,                    \
                     bytes_of(elements(count), type),                                                       \
                     (const void* sent, void* received, Count count, MPI_Datatype type, MPI_Op op),         \
                     (sent, received, count, type, op))                                                     \
    LAPWING_PROFILED(Ireduce_scatter##suffix, Reduce_scatter##suffix, equal,                                \
                     bytes_of(sum(comm, counts), type),                                                     \
                     (const void* sent, void* received, const Count* counts, MPI_Datatype type, MPI_Op op), \
                     (sent, received, counts, type, op))                                                    \
    LAPWING_PROFILED(Ineighbor_allgather##suffix, Neighbor_allgather##suffix, equal,                        \
                     bytes_of(elements(send_count), send_type),                                             \
                     (const void* sent, Count send_count, MPI_Datatype send_type, void* received,           \
                      Count receive_count, MPI_Datatype receive_type),                                      \
                     (sent, send_count, send_type, received, receive_count, receive_type))                  \
    LAPWING_PROFILED(                                                                                       \
        Ineighbor_allgatherv##suffix, Neighbor_allgatherv##suffix, equal,                                   \
        bytes_of(elements(send_count), send_type),                                                          \
        (const void* sent, Count send_count, MPI_Datatype send_type, void* received,                        \
         const Count* receive_counts, const Displacement* displacements, MPI_Datatype receive_type),        \
        (sent, send_count, send_type, received, receive_counts, displacements, receive_type))               \
    LAPWING_PROFILED(Ineighbor_alltoall##suffix, Neighbor_alltoall##suffix, equal,                          \
                     bytes_of(elements(send_count), send_type),                                             \
                     (const void* sent, Count send_count, MPI_Datatype send_type, void* received,           \
                      Count receive_count, MPI_Datatype receive_type),                                      \
                     (sent, send_count, send_type, received, receive_count, receive_type))                  \
    LAPWING_PROFILED(Ineighbor_alltoallv##suffix, Neighbor_alltoallv##suffix, equal, 0,                     \
                     (const void* sent, const Count* send_counts, const Displacement* send_displacements,   \
                      MPI_Datatype send_type, void* received, const Count* receive_counts,                  \
                      const Displacement* receive_displacements, MPI_Datatype receive_type),                \
                     (sent, send_counts, send_displacements, send_type, received, receive_counts,           \
                      receive_displacements, receive_type))                                                 \
    LAPWING_PROFILED(Ineighbor_alltoallw##suffix, Neighbor_alltoallw##suffix, equal, 0,                     \
                     (const void* sent, const Count* send_counts, const MPI_Aint* send_displacements,       \
                      const MPI_Datatype* send_types, void* received, const Count* receive_counts,          \
                      const MPI_Aint* receive_displacements, const MPI_Datatype* receive_types),            \
                     (sent, send_counts, send_displacements, send_types, received, receive_counts,          \
                      receive_displacements, receive_types))

LAPWING_PROFILED_ALL(, int, int)
#if MPI_VERSION >= 4
LAPWING_PROFILED_ALL(_c, MPI_Count, MPI_Aint)
#endif
