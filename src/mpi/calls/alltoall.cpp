// MPI_Ialltoall, MPI_Ialltoallv and MPI_Ialltoallw.
#include "mpi/calls/call.hpp"

namespace lapwing {
namespace {

struct Alltoall {
    static constexpr Collective collective = Collective::alltoall;
    const void* send_buffer;
    MPI_Count send_count;
    MPI_Datatype send_type;
    void* receive_buffer;
    MPI_Count receive_count;
    MPI_Datatype receive_type;

    bool plausible(const Communicator&) const {
        return lapwing::plausible(receive_count, receive_type) &&
               (send_buffer == MPI_IN_PLACE || lapwing::plausible(send_count, send_type));
    }
    Started start(Communicator& group) const {
        const std::uint64_t ranks = static_cast<std::uint64_t>(group.ranks);
        const Elements received(receive_buffer, static_cast<std::uint64_t>(receive_count) * ranks,
                                receive_type);
        const bool in_place = send_buffer == MPI_IN_PLACE;
        const Elements sent =
            in_place ? received
                     : Elements(send_buffer, static_cast<std::uint64_t>(send_count) * ranks, send_type);
        for (const Elements* elements : {&sent, &received}) {
            if (elements->layout.error != MPI_SUCCESS) return Started::failed_by(elements->layout.error);
        }
        Problem problem = {.collective = collective,
                           .ranks = group.ranks,
                           .bytes = static_cast<std::uint64_t>(receive_count) * received.layout.size};
        return lapwing::start(group, problem, [=](Request& request, Buffers& buffers, int* error) {
            // In place, blocks arrive where others are still waiting to be sent.
            buffers.in = in_place ? copied_input(request, sent, error) : input(request, sent, error);
            if (*error == MPI_SUCCESS) buffers.out = output(request, received, error);
        });
    }
};

// Of the two forms with blocks of several lengths.
Started start_alltoallv(Communicator& group, const Blocks& sent, const Blocks& received, bool in_place) {
    for (const Blocks* blocks : {&sent, &received}) {
        if (blocks->error() != MPI_SUCCESS) return Started::failed_by(blocks->error());
    }
    Problem problem = {.collective = Collective::alltoallv, .ranks = group.ranks};
    problem.parts.push_back({sent.parts(), received.parts()});
    return start(group, problem, [=](Request& request, Buffers& buffers, int* error) {
        buffers.in = in_place ? sent.copied_input(request, error) : sent.input(request, error);
        if (*error == MPI_SUCCESS) buffers.out = received.output(request, error);
    });
}

template <typename Count, typename Displacement>
struct AnyAlltoallv {
    static constexpr Collective collective = Collective::alltoallv;
    const void* send_buffer;
    const Count* send_counts;
    const Displacement* send_displacements;
    MPI_Datatype send_type;
    void* receive_buffer;
    const Count* receive_counts;
    const Displacement* receive_displacements;
    MPI_Datatype receive_type;

    bool in_place() const { return send_buffer == MPI_IN_PLACE; }
    bool plausible(const Communicator& group) const {
        return plausible_blocks(size(group), receive_counts, receive_displacements, receive_type) &&
               (in_place() || plausible_blocks(size(group), send_counts, send_displacements, send_type));
    }
    Started start(Communicator& group) const {
        const Blocks received =
            blocks_of(size(group), receive_buffer, receive_counts, receive_displacements, receive_type);
        if (in_place()) return start_alltoallv(group, received, received, true);
        return start_alltoallv(
            group, blocks_of(size(group), send_buffer, send_counts, send_displacements, send_type), received,
            false);
    }
};
using Alltoallv = AnyAlltoallv<int, int>;
using Alltoallv_c = AnyAlltoallv<MPI_Count, MPI_Aint>;

template <typename Count, typename Displacement>
struct AnyAlltoallw {
    static constexpr Collective collective = Collective::alltoallv;
    const void* send_buffer;
    const Count* send_counts;
    const Displacement* send_displacements;
    const MPI_Datatype* send_types;
    void* receive_buffer;
    const Count* receive_counts;
    const Displacement* receive_displacements;
    const MPI_Datatype* receive_types;

    bool in_place() const { return send_buffer == MPI_IN_PLACE; }
    bool plausible(const Communicator& group) const {
        return plausible_typed_blocks(size(group), receive_counts, receive_displacements, receive_types) &&
               (in_place() ||
                plausible_typed_blocks(size(group), send_counts, send_displacements, send_types));
    }
    Started start(Communicator& group) const {
        const Blocks received = typed_blocks_of(size(group), receive_buffer, receive_counts,
                                                receive_displacements, receive_types);
        if (in_place()) return start_alltoallv(group, received, received, true);
        return start_alltoallv(
            group, typed_blocks_of(size(group), send_buffer, send_counts, send_displacements, send_types),
            received, false);
    }
};
using Alltoallw = AnyAlltoallw<int, int>;
using Alltoallw_c = AnyAlltoallw<MPI_Count, MPI_Aint>;

}  // namespace
}  // namespace lapwing

using namespace lapwing;

#define LAPWING_ALLTOALL(suffix, Count, Displacement)                                                      \
    LAPWING_FUNCTIONS(Ialltoall##suffix, Alltoall##suffix, Alltoall_init##suffix, Alltoall,                \
                      (const void* sent, Count send_count, MPI_Datatype send_type, void* received,         \
                       Count receive_count, MPI_Datatype receive_type),                                    \
                      (sent, send_count, send_type, received, receive_count, receive_type))                \
    LAPWING_FUNCTIONS(Ialltoallv##suffix, Alltoallv##suffix, Alltoallv_init##suffix, Alltoallv##suffix,    \
                      (const void* sent, const Count* send_counts, const Displacement* send_displacements, \
                       MPI_Datatype send_type, void* received, const Count* receive_counts,                \
                       const Displacement* receive_displacements, MPI_Datatype receive_type),              \
                      (sent, send_counts, send_displacements, send_type, received, receive_counts,         \
                       receive_displacements, receive_type))                                               \
    LAPWING_FUNCTIONS(Ialltoallw##suffix, Alltoallw##suffix, Alltoallw_init##suffix, Alltoallw##suffix,    \
                      (const void* sent, const Count* send_counts, const Displacement* send_displacements, \
                       const MPI_Datatype* send_types, void* received, const Count* receive_counts,        \
                       const Displacement* receive_displacements, const MPI_Datatype* receive_types),      \
                      (sent, send_counts, send_displacements, send_types, received, receive_counts,        \
                       receive_displacements, receive_types))
LAPWING_WITH_COUNTS(LAPWING_ALLTOALL)
