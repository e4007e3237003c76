// MPI_Ineighbor_allgather(v) and MPI_Ineighbor_alltoall(v, w).
#include "mpi/calls/call.hpp"
#include "mpi/calls/neighbors.hpp"

namespace lapwing {
namespace {

// The program's blocks, in the order of its neighbours; those of MPI_PROC_NULL are left out.
template <typename Block>
Blocks blocks_among(const std::vector<int>& ranks, Block block) {
    Blocks blocks;
    blocks.reserve(ranks.size());
    for (std::size_t i = 0; i < ranks.size(); ++i) {
        if (ranks[i] != MPI_PROC_NULL) blocks.add(ranks[i], block(i));
    }
    return blocks;
}

// One and the same block for each.
Blocks one_block(const std::vector<int>& ranks, const void* buffer, MPI_Count count, MPI_Datatype type) {
    const Elements own(buffer, static_cast<std::uint64_t>(count), type);
    return blocks_among(ranks, [&](std::size_t) { return own; });
}

Blocks equal_blocks(const std::vector<int>& ranks, const void* buffer, MPI_Count count, MPI_Datatype type) {
    const Elements all(buffer, 0, type);
    return blocks_among(ranks, [&](std::size_t i) {
        return all.from(static_cast<std::int64_t>(i) * count, static_cast<std::uint64_t>(count));
    });
}

template <typename Count, typename Displacement>
Blocks blocks_at(const std::vector<int>& ranks, const void* buffer, const Count* counts,
                 const Displacement* displacements, MPI_Datatype type) {
    const Elements all(buffer, 0, type);
    return blocks_among(ranks, [&](std::size_t i) {
        return all.from(static_cast<std::int64_t>(displacements[i]), static_cast<std::uint64_t>(counts[i]));
    });
}

template <typename Count>
Blocks typed_blocks_at(const std::vector<int>& ranks, const void* buffer, const Count* counts,
                       const MPI_Aint* displacements, const MPI_Datatype* types) {
    return blocks_among(ranks, [&](std::size_t i) {
        const auto count = static_cast<std::uint64_t>(counts[i]);
        return count == 0 ? Elements()
                          : Elements(static_cast<const char*>(buffer) + displacements[i], count, types[i]);
    });
}

Started start_among(Communicator& group, Collective collective, const Neighbors& neighbors,
                    const Blocks& sent, const Blocks& received) {
    for (const Blocks* blocks : {&sent, &received}) {
        if (blocks->error() != MPI_SUCCESS) return Started::failed_by(blocks->error());
    }
    Problem problem = {.collective = collective, .ranks = group.ranks};
    Parts& parts = problem.parts.emplace_back();
    parts.sends = sent.parts();
    // In the order in which they arrive.
    const std::vector<Part> arriving = received.parts();
    std::vector<const Part*> by_source(neighbors.sources.size(), nullptr);
    auto next = arriving.begin();
    for (std::size_t i = 0; i < by_source.size(); ++i) {
        if (neighbors.sources[i] != MPI_PROC_NULL) by_source[i] = &*next++;
    }
    for (const std::size_t source : neighbors.arrivals) {
        if (by_source[source] != nullptr) parts.receives.push_back(*by_source[source]);
    }
    return start(group, problem, [=](Request& request, Buffers& buffers, int* error) {
        buffers.in = sent.input(request, error);
        if (*error == MPI_SUCCESS) buffers.out = received.output(request, error);
    });
}

// A call: its collective, its arguments, and its blocks once the neighbours are known.
template <typename Arguments>
struct AmongNeighbors : Arguments {
    bool plausible(const Communicator& group) const {
        return find_neighbors(group.communicator, neighbors_) == MPI_SUCCESS &&
               Arguments::are_plausible(neighbors_);
    }
    Started start(Communicator& group) const {
        return start_among(group, Arguments::collective, neighbors_, Arguments::sent(neighbors_.destinations),
                           Arguments::received(neighbors_.sources));
    }
    mutable Neighbors neighbors_{};
};

struct AllgatherArguments {
    static constexpr Collective collective = Collective::neighbor_allgather;
    const void* send_buffer;
    MPI_Count send_count;
    MPI_Datatype send_type;
    void* receive_buffer;
    MPI_Count receive_count;
    MPI_Datatype receive_type;

    bool are_plausible(const Neighbors&) const {
        return plausible(send_count, send_type) && plausible(receive_count, receive_type);
    }
    Blocks sent(const std::vector<int>& ranks) const {
        return one_block(ranks, send_buffer, send_count, send_type);
    }
    Blocks received(const std::vector<int>& ranks) const {
        return equal_blocks(ranks, receive_buffer, receive_count, receive_type);
    }
};

template <typename Count, typename Displacement>
struct AllgathervArguments {
    static constexpr Collective collective = Collective::neighbor_allgather;
    const void* send_buffer;
    Count send_count;
    MPI_Datatype send_type;
    void* receive_buffer;
    const Count* receive_counts;
    const Displacement* displacements;
    MPI_Datatype receive_type;

    bool are_plausible(const Neighbors& neighbors) const {
        return plausible(send_count, send_type) &&
               plausible_blocks(neighbors.sources.size(), receive_counts, displacements, receive_type);
    }
    Blocks sent(const std::vector<int>& ranks) const {
        return one_block(ranks, send_buffer, send_count, send_type);
    }
    Blocks received(const std::vector<int>& ranks) const {
        return blocks_at(ranks, receive_buffer, receive_counts, displacements, receive_type);
    }
};

struct AlltoallArguments {
    static constexpr Collective collective = Collective::neighbor_alltoall;
    const void* send_buffer;
    MPI_Count send_count;
    MPI_Datatype send_type;
    void* receive_buffer;
    MPI_Count receive_count;
    MPI_Datatype receive_type;

    bool are_plausible(const Neighbors&) const {
        return plausible(send_count, send_type) && plausible(receive_count, receive_type);
    }
    Blocks sent(const std::vector<int>& ranks) const {
        return equal_blocks(ranks, send_buffer, send_count, send_type);
    }
    Blocks received(const std::vector<int>& ranks) const {
        return equal_blocks(ranks, receive_buffer, receive_count, receive_type);
    }
};

template <typename Count, typename Displacement>
struct AlltoallvArguments {
    static constexpr Collective collective = Collective::neighbor_alltoall;
    const void* send_buffer;
    const Count* send_counts;
    const Displacement* send_displacements;
    MPI_Datatype send_type;
    void* receive_buffer;
    const Count* receive_counts;
    const Displacement* receive_displacements;
    MPI_Datatype receive_type;

    bool are_plausible(const Neighbors& neighbors) const {
        return plausible_blocks(neighbors.destinations.size(), send_counts, send_displacements, send_type) &&
               plausible_blocks(neighbors.sources.size(), receive_counts, receive_displacements,
                                receive_type);
    }
    Blocks sent(const std::vector<int>& ranks) const {
        return blocks_at(ranks, send_buffer, send_counts, send_displacements, send_type);
    }
    Blocks received(const std::vector<int>& ranks) const {
        return blocks_at(ranks, receive_buffer, receive_counts, receive_displacements, receive_type);
    }
};

template <typename Count>
struct AlltoallwArguments {
    static constexpr Collective collective = Collective::neighbor_alltoall;
    const void* send_buffer;
    const Count* send_counts;
    const MPI_Aint* send_displacements;
    const MPI_Datatype* send_types;
    void* receive_buffer;
    const Count* receive_counts;
    const MPI_Aint* receive_displacements;
    const MPI_Datatype* receive_types;

    bool are_plausible(const Neighbors& neighbors) const {
        return plausible_typed_blocks(neighbors.destinations.size(), send_counts, send_displacements,
                                      send_types) &&
               plausible_typed_blocks(neighbors.sources.size(), receive_counts, receive_displacements,
                                      receive_types);
    }
    Blocks sent(const std::vector<int>& ranks) const {
        return typed_blocks_at(ranks, send_buffer, send_counts, send_displacements, send_types);
    }
    Blocks received(const std::vector<int>& ranks) const {
        return typed_blocks_at(ranks, receive_buffer, receive_counts, receive_displacements, receive_types);
    }
};

// As the functions call them.
using NeighborAllgather = AmongNeighbors<AllgatherArguments>;
using NeighborAllgather_c = NeighborAllgather;
using NeighborAllgatherv = AmongNeighbors<AllgathervArguments<int, int>>;
using NeighborAllgatherv_c = AmongNeighbors<AllgathervArguments<MPI_Count, MPI_Aint>>;
using NeighborAlltoall = AmongNeighbors<AlltoallArguments>;
using NeighborAlltoall_c = NeighborAlltoall;
using NeighborAlltoallv = AmongNeighbors<AlltoallvArguments<int, int>>;
using NeighborAlltoallv_c = AmongNeighbors<AlltoallvArguments<MPI_Count, MPI_Aint>>;
using NeighborAlltoallw = AmongNeighbors<AlltoallwArguments<int>>;
using NeighborAlltoallw_c = AmongNeighbors<AlltoallwArguments<MPI_Count>>;

}  // namespace
}  // namespace lapwing

using namespace lapwing;

#define LAPWING_NEIGHBOR(suffix, Count, Displacement)                                                        \
    LAPWING_FUNCTIONS(Ineighbor_allgather##suffix, Neighbor_allgather##suffix,                               \
                      Neighbor_allgather_init##suffix, NeighborAllgather##suffix,                            \
                      (const void* sent, Count send_count, MPI_Datatype send_type, void* received,           \
                       Count receive_count, MPI_Datatype receive_type),                                      \
                      (sent, send_count, send_type, received, receive_count, receive_type))                  \
    LAPWING_FUNCTIONS(Ineighbor_allgatherv##suffix, Neighbor_allgatherv##suffix,                             \
                      Neighbor_allgatherv_init##suffix, NeighborAllgatherv##suffix,                          \
                      (const void* sent, Count send_count, MPI_Datatype send_type, void* received,           \
                       const Count* counts, const Displacement* displacements, MPI_Datatype receive_type),   \
                      (sent, send_count, send_type, received, counts, displacements, receive_type))          \
    LAPWING_FUNCTIONS(Ineighbor_alltoall##suffix, Neighbor_alltoall##suffix, Neighbor_alltoall_init##suffix, \
                      NeighborAlltoall##suffix,                                                              \
                      (const void* sent, Count send_count, MPI_Datatype send_type, void* received,           \
                       Count receive_count, MPI_Datatype receive_type),                                      \
                      (sent, send_count, send_type, received, receive_count, receive_type))                  \
    LAPWING_FUNCTIONS(Ineighbor_alltoallv##suffix, Neighbor_alltoallv##suffix,                               \
                      Neighbor_alltoallv_init##suffix, NeighborAlltoallv##suffix,                            \
                      (const void* sent, const Count* send_counts, const Displacement* send_displacements,   \
                       MPI_Datatype send_type, void* received, const Count* receive_counts,                  \
                       const Displacement* receive_displacements, MPI_Datatype receive_type),                \
                      (sent, send_counts, send_displacements, send_type, received, receive_counts,           \
                       receive_displacements, receive_type))                                                 \
    LAPWING_FUNCTIONS(Ineighbor_alltoallw##suffix, Neighbor_alltoallw##suffix,                               \
                      Neighbor_alltoallw_init##suffix, NeighborAlltoallw##suffix,                            \
                      (const void* sent, const Count* send_counts, const MPI_Aint* send_displacements,       \
                       const MPI_Datatype* send_types, void* received, const Count* receive_counts,          \
                       const MPI_Aint* receive_displacements, const MPI_Datatype* receive_types),            \
                      (sent, send_counts, send_displacements, send_types, received, receive_counts,          \
                       receive_displacements, receive_types))
LAPWING_WITH_COUNTS(LAPWING_NEIGHBOR)
