// All collectives. What a program may leave undefined at a rank is not looked at.
#include <algorithm>
#include <cstdint>
#include <numeric>
#include <type_traits>
#include <utility>

#include "mpi/calls/signatures.hpp"
#include "mpi/profile/profile.hpp"

namespace {

using lapwing::profile::blocking;
using lapwing::profile::bytes_of;
using lapwing::profile::Data;
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

template <typename Count>
std::uint64_t bytes_in(Count count, MPI_Datatype type) {
    return count < 0 ? 0 : bytes_of(static_cast<std::uint64_t>(count), type);
}

// Whether this rank is the root that gives or takes all.
bool is_root(MPI_Comm communicator, int root) {
    int inter = 0;
    int rank = 0;
    PMPI_Comm_test_inter(communicator, &inter);
    PMPI_Comm_rank(communicator, &rank);
    return inter != 0 ? root == MPI_ROOT : rank == root;
}

std::uint64_t sum_of(const std::vector<std::uint64_t>& counts) {
    return std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
}

// Bytes for each of `size` peers. `types`: one for all, or an array.
template <typename Count, typename Types>
std::vector<std::uint64_t> counts_of(int size, const Count* counts, Types types) {
    std::vector<std::uint64_t> bytes;
    for (int i = 0; counts != nullptr && i < size; ++i) {
        if constexpr (std::is_same_v<Types, const MPI_Datatype*>)
            bytes.push_back(counts[i] > 0 ? bytes_in(counts[i], types[i]) : 0);
        else
            bytes.push_back(static_cast<std::uint64_t>(counts[i] > 0 ? counts[i] : 0));
    }
    if constexpr (!std::is_same_v<Types, const MPI_Datatype*>) {
        const std::uint64_t element = bytes_of(1, types);
        for (std::uint64_t& one : bytes) one *= element;
    }
    return bytes;
}

template <typename Count>
Data vector_of(Count count, MPI_Datatype type) {
    const std::uint64_t bytes = bytes_in(count, type);
    return {.bytes = bytes, .sent = bytes, .received = bytes};
}

template <typename Count>
Data reduction(const void* sent, Count count, MPI_Datatype type, MPI_Op operation) {
    Data data = vector_of(count, type);
    data.in_place = sent == MPI_IN_PLACE;
    data.type = type;
    data.operation = operation;
    return data;
}

template <typename Count>
Data reduce_scatter(MPI_Comm communicator, const void* sent, const Count* counts, MPI_Datatype type,
                    MPI_Op operation) {
    Data data = reduction(sent, Count{0}, type, operation);
    data.received_counts = counts_of(size_of(communicator), counts, type);
    data.bytes = data.sent = data.received = sum_of(data.received_counts);
    return data;
}

// One block to each peer, and one from each. In place, this rank's block is in the buffer of the others.
// Arguments of a side that takes no part (`sends`, `receives`) may be undefined.
template <typename Count>
Data blocks(const void* sent, Count send_count, MPI_Datatype send_type, const void* received,
            Count receive_count, MPI_Datatype receive_type, bool sends = true, bool receives = true) {
    Data data;
    data.in_place = (sends && sent == MPI_IN_PLACE) || (receives && received == MPI_IN_PLACE);
    if (sends && sent != MPI_IN_PLACE) data.sent = bytes_in(send_count, send_type);
    if (receives && received != MPI_IN_PLACE) data.received = bytes_in(receive_count, receive_type);
    if (sends && sent == MPI_IN_PLACE) data.sent = data.received;
    if (receives && received == MPI_IN_PLACE) data.received = data.sent;
    data.bytes = sends ? data.sent : data.received;
    return data;
}

// The sums of blocks, each of another length. `sent_counts` is empty in place.
Data parts(bool in_place, std::vector<std::uint64_t> sent_counts,
           std::vector<std::uint64_t> received_counts) {
    Data data;
    data.in_place = in_place;
    data.received = sum_of(received_counts);
    data.bytes = data.sent = in_place ? data.received : sum_of(sent_counts);
    data.sent_counts = std::move(sent_counts);
    data.received_counts = std::move(received_counts);
    return data;
}

template <typename Count>
Data gather_parts(MPI_Comm communicator, int root, const void* sent, Count send_count, MPI_Datatype send_type,
                  const Count* receive_counts, MPI_Datatype receive_type) {
    Data data = vector_of(sent == MPI_IN_PLACE ? Count{0} : send_count, send_type);
    data.in_place = sent == MPI_IN_PLACE;
    data.received = 0;
    if (!is_root(communicator, root)) return data;
    data.received_counts = counts_of(size_of(communicator), receive_counts, receive_type);
    data.received = sum_of(data.received_counts);
    return data;
}

template <typename Count>
Data scatter_parts(MPI_Comm communicator, int root, const void* received, const Count* send_counts,
                   MPI_Datatype send_type, Count receive_count, MPI_Datatype receive_type) {
    Data data =
        gather_parts(communicator, root, received, receive_count, receive_type, send_counts, send_type);
    std::swap(data.sent, data.received);
    std::swap(data.sent_counts, data.received_counts);
    return data;
}

template <typename Count>
Data allgather_parts(MPI_Comm communicator, const void* sent, Count send_count, MPI_Datatype send_type,
                     const Count* receive_counts, MPI_Datatype receive_type) {
    Data data = vector_of(sent == MPI_IN_PLACE ? Count{0} : send_count, send_type);
    data.in_place = sent == MPI_IN_PLACE;
    data.received_counts = counts_of(size_of(communicator), receive_counts, receive_type);
    data.received = sum_of(data.received_counts);
    return data;
}

template <typename Count, typename Types>
Data all_parts(MPI_Comm communicator, const void* sent, const Count* send_counts, Types send_types,
               const Count* receive_counts, Types receive_types) {
    const int size = size_of(communicator);
    const bool in_place = sent == MPI_IN_PLACE;
    return parts(in_place, in_place ? std::vector<std::uint64_t>() : counts_of(size, send_counts, send_types),
                 counts_of(size, receive_counts, receive_types));
}

// Neighbors of this rank.
std::pair<int, int> neighbors_of(MPI_Comm communicator) {
    const std::lock_guard lock(lapwing::profile::shared_lock());
    const auto known = lapwing::profile::find(communicator);
    return {known->sources, known->destinations};
}

template <typename Count>
Data neighbor_gather(MPI_Comm communicator, Count send_count, MPI_Datatype send_type,
                     const Count* receive_counts, MPI_Datatype receive_type) {
    Data data = vector_of(send_count, send_type);
    data.received_counts = counts_of(neighbors_of(communicator).first, receive_counts, receive_type);
    data.received = sum_of(data.received_counts);
    return data;
}

template <typename Count, typename Types>
Data neighbor_parts(MPI_Comm communicator, const Count* send_counts, Types send_types,
                    const Count* receive_counts, Types receive_types) {
    const auto [sources, destinations] = neighbors_of(communicator);
    return parts(false, counts_of(destinations, send_counts, send_types),
                 counts_of(sources, receive_counts, receive_types));
}

}  // namespace

namespace lapwing::profile {

void record_collective(RecordedCall& recorded, MPI_Comm communicator, Root root, const Data& data) {
    recorded.set_communicator(communicator);
    recording::Call& call = recorded.call();
    if (root.role != Role::equal && root.rank >= 0) call.peer = root.rank;
    call.sent = data.sent;
    call.received = data.received;
    call.in_place = data.in_place;
    if (data.type != MPI_DATATYPE_NULL) call.type = type_number(data.type);
    if (data.operation != MPI_OP_NULL) call.operation = operation_number(data.operation);
    call.sent_counts = counts_number(data.sent_counts);
    call.received_counts = counts_number(data.received_counts);
}

}  // namespace lapwing::profile

#define LAPWING_PROFILED_INIT(Init, root_of_it, data, parameters, names)                                   \
    LAPWING_MPI Init(LAPWING_LIST parameters MPI_Comm comm, MPI_Info info, MPI_Request* request) {         \
        return persistent(                                                                                 \
            #Init, __builtin_return_address(0), comm, request, root_of_it, [&]() -> Data { return data; }, \
            [&] { return LAPWING_NEXT_INIT(Init)(LAPWING_LIST names comm, info, request); });              \
    }

#ifdef OPEN_MPI
#define LAPWING_PROFILED_EXTENSION(...) LAPWING_PROFILED_INIT(__VA_ARGS__)
#else
#define LAPWING_PROFILED_EXTENSION(...)
#endif

#define LAPWING_PROFILED(Nonblocking, Blocking, suffix, root_of_it, data, parameters, names)             \
    LAPWING_MPI MPI_##Blocking##suffix(LAPWING_LIST parameters MPI_Comm comm) {                          \
        return blocking(                                                                                 \
            "MPI_" #Blocking #suffix, __builtin_return_address(0), comm, root_of_it,                     \
            [&]() -> Data { return data; },                                                              \
            [&] { return NEXT_##Blocking##suffix(LAPWING_LIST names comm); });                           \
    }                                                                                                    \
    LAPWING_MPI MPI_##Nonblocking##suffix(LAPWING_LIST parameters MPI_Comm comm, MPI_Request* request) { \
        return nonblocking(                                                                              \
            "MPI_" #Nonblocking #suffix, __builtin_return_address(0), comm, request, root_of_it,         \
            [&]() -> Data { return data; },                                                              \
            [&] { return NEXT_##Nonblocking##suffix(LAPWING_LIST names comm, request); });               \
    }                                                                                                    \
    LAPWING_PROFILED_INIT(MPI_##Blocking##_init##suffix, root_of_it, (data), parameters, names)          \
    LAPWING_PROFILED_EXTENSION(MPIX_##Blocking##_init##suffix, root_of_it, (data), parameters, names)

LAPWING_PROFILED(Ibarrier, Barrier, , equal, Data(), (), ())

#define LAPWING_PROFILED_ALL(suffix, Count)                                                                  \
    LAPWING_PROFILED(                                                                                        \
        Ibcast, Bcast, suffix, gives(root),                                                                  \
        vector_of(count, type),                              \
        (LAPWING_BUFFER(Count)), (LAPWING_BUFFER_NAMES))                                                     \
    LAPWING_PROFILED(                                                                                        \
        Igather, Gather, suffix, takes(root),                                                                \
        blocks(LAPWING_SENT_NAMES, LAPWING_RECEIVED_NAMES, true, is_root(comm, root)),                                                        \
        (LAPWING_SENT(Count), LAPWING_RECEIVED(Count), int root),                                            \
        (LAPWING_SENT_NAMES, LAPWING_RECEIVED_NAMES, root))                                                  \
    LAPWING_PROFILED(                                                                                        \
        Igatherv, Gatherv, suffix, takes(root),                                                              \
        gather_parts(comm, root, sent, send_count, send_type, receive_counts, receive_type),                                  \
        (LAPWING_SENT(Count), LAPWING_RECEIVED_BLOCKS(Count), int root),                                     \
        (LAPWING_SENT_NAMES, LAPWING_RECEIVED_BLOCKS_NAMES, root))                                           \
    LAPWING_PROFILED(                                                                                        \
        Iscatter, Scatter, suffix, gives(root),                                                              \
        blocks(LAPWING_SENT_NAMES, LAPWING_RECEIVED_NAMES, is_root(comm, root), true),                                      \
        (LAPWING_SENT(Count), LAPWING_RECEIVED(Count), int root),                                            \
        (LAPWING_SENT_NAMES, LAPWING_RECEIVED_NAMES, root))                                                  \
    LAPWING_PROFILED(Iscatterv, Scatterv, suffix, gives(root),                                               \
                     scatter_parts(comm, root, received, send_counts, send_type, receive_count, receive_type),                         \
                     (LAPWING_SENT_BLOCKS(Count), LAPWING_RECEIVED(Count), int root),                        \
                     (LAPWING_SENT_BLOCKS_NAMES, LAPWING_RECEIVED_NAMES, root))                              \
    LAPWING_PROFILED(Iallgather, Allgather, suffix, equal,                                                   \
                     blocks(LAPWING_SENT_NAMES, LAPWING_RECEIVED_NAMES),          \
                     (LAPWING_SENT(Count), LAPWING_RECEIVED(Count)),                                         \
                     (LAPWING_SENT_NAMES, LAPWING_RECEIVED_NAMES))                                           \
    LAPWING_PROFILED(                                                                                        \
        Iallgatherv, Allgatherv, suffix, equal,                                                              \
        allgather_parts(comm, sent, send_count, send_type, receive_counts, receive_type),  \
        (LAPWING_SENT(Count), LAPWING_RECEIVED_BLOCKS(Count)),                                               \
        (LAPWING_SENT_NAMES, LAPWING_RECEIVED_BLOCKS_NAMES))                                                 \
    LAPWING_PROFILED(Ialltoall, Alltoall, suffix, equal,                                                     \
                     blocks(LAPWING_SENT_NAMES, LAPWING_RECEIVED_NAMES),          \
                     (LAPWING_SENT(Count), LAPWING_RECEIVED(Count)),                                         \
                     (LAPWING_SENT_NAMES, LAPWING_RECEIVED_NAMES))                                           \
    LAPWING_PROFILED(                                                                                        \
        Ialltoallv, Alltoallv, suffix, equal,                                                                \
        all_parts(comm, sent, send_counts, send_type, receive_counts, receive_type),  \
        (LAPWING_SENT_BLOCKS(Count), LAPWING_RECEIVED_BLOCKS(Count)),                                        \
        (LAPWING_SENT_BLOCKS_NAMES, LAPWING_RECEIVED_BLOCKS_NAMES))                                          \
    LAPWING_PROFILED(                                                                                        \
        Ialltoallw, Alltoallw, suffix, equal,                                                                \
        all_parts(comm, sent, send_counts, send_types, receive_counts, receive_types), \
        (LAPWING_SENT_TYPED(Count, lapwing::DisplacementOf<Count>),                                          \
         LAPWING_RECEIVED_TYPED(Count, lapwing::DisplacementOf<Count>)),                                     \
        (LAPWING_SENT_TYPED_NAMES, LAPWING_RECEIVED_TYPED_NAMES))                                            \
    LAPWING_PROFILED(Ireduce, Reduce, suffix, takes(root),                                                   \
                     reduction(sent, count, type, op),               \
                     (LAPWING_OPERANDS(Count), int root), (LAPWING_OPERANDS_NAMES, root))                    \
    LAPWING_PROFILED(Iallreduce, Allreduce, suffix, equal,                                                   \
                     reduction(sent, count, type, op),                                         \
                     (LAPWING_OPERANDS(Count)), (LAPWING_OPERANDS_NAMES))                                    \
    LAPWING_PROFILED(Iscan, Scan, suffix, equal,                                                             \
                     reduction(sent, count, type, op),                                         \
                     (LAPWING_OPERANDS(Count)), (LAPWING_OPERANDS_NAMES))                                    \
    LAPWING_PROFILED(Iexscan, Exscan, suffix, equal,                                                         \
                     reduction(sent, count, type, op),                                         \
                     (LAPWING_OPERANDS(Count)), (LAPWING_OPERANDS_NAMES))                                    \
    LAPWING_PROFILED(                                                                                        \
        Ireduce_scatter_block, Reduce_scatter_block, suffix, equal,                                          \
        reduction(sent, count, type, op),                                                      \
        (LAPWING_OPERANDS(Count)), (LAPWING_OPERANDS_NAMES))                                                 \
    LAPWING_PROFILED(Ireduce_scatter, Reduce_scatter, suffix, equal,                                         \
                     reduce_scatter(comm, sent, count, type, op),                             \
                     (LAPWING_OPERANDS(const Count*)), (LAPWING_OPERANDS_NAMES))                             \
    LAPWING_PROFILED(                                                                                        \
        Ineighbor_allgather, Neighbor_allgather, suffix, equal,                                              \
        blocks(LAPWING_SENT_NAMES, LAPWING_RECEIVED_NAMES),            \
        (LAPWING_SENT(Count), LAPWING_RECEIVED(Count)), (LAPWING_SENT_NAMES, LAPWING_RECEIVED_NAMES))        \
    LAPWING_PROFILED(                                                                                        \
        Ineighbor_allgatherv, Neighbor_allgatherv, suffix, equal,                                            \
        neighbor_gather(comm, send_count, send_type, receive_counts, receive_type),                                  \
        (LAPWING_SENT(Count), LAPWING_RECEIVED_BLOCKS(Count)),                                               \
        (LAPWING_SENT_NAMES, LAPWING_RECEIVED_BLOCKS_NAMES))                                                 \
    LAPWING_PROFILED(                                                                                        \
        Ineighbor_alltoall, Neighbor_alltoall, suffix, equal,                                                \
        blocks(LAPWING_SENT_NAMES, LAPWING_RECEIVED_NAMES),            \
        (LAPWING_SENT(Count), LAPWING_RECEIVED(Count)), (LAPWING_SENT_NAMES, LAPWING_RECEIVED_NAMES))        \
    LAPWING_PROFILED(                                                                                        \
        Ineighbor_alltoallv, Neighbor_alltoallv, suffix, equal,                                              \
        neighbor_parts(comm, send_counts, send_type, receive_counts, receive_type),                                                                  \
        (LAPWING_SENT_BLOCKS(Count), LAPWING_RECEIVED_BLOCKS(Count)),                                        \
        (LAPWING_SENT_BLOCKS_NAMES, LAPWING_RECEIVED_BLOCKS_NAMES))                                          \
    LAPWING_PROFILED(                                                                                        \
        Ineighbor_alltoallw, Neighbor_alltoallw, suffix, equal,                                              \
        neighbor_parts(comm, send_counts, send_types, receive_counts, receive_types),                                                                 \
        (LAPWING_SENT_TYPED(Count, MPI_Aint), LAPWING_RECEIVED_TYPED(Count, MPI_Aint)),                      \
        (LAPWING_SENT_TYPED_NAMES, LAPWING_RECEIVED_TYPED_NAMES))
LAPWING_WITH_COUNTS(LAPWING_PROFILED_ALL)
