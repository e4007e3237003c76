// MPI_Iallgather and MPI_Iallgatherv.
#include "mpi/calls/call.hpp"

namespace lapwing {
namespace {

struct Allgather {
    static constexpr Collective collective = Collective::allgather;
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
        const bool in_place = send_buffer == MPI_IN_PLACE;
        const std::uint64_t block = static_cast<std::uint64_t>(receive_count);
        const Elements own =
            in_place ? Elements() : Elements(send_buffer, static_cast<std::uint64_t>(send_count), send_type);
        const Elements all(receive_buffer, block * static_cast<std::uint64_t>(group.ranks), receive_type);
        for (const Elements* elements : {&own, &all}) {
            if (elements->layout.error != MPI_SUCCESS) return Started::failed_by(elements->layout.error);
        }
        Problem problem = {.collective = collective,
                           .ranks = group.ranks,
                           .bytes = block * all.layout.size,
                           .in_place = in_place};
        return lapwing::start(group, problem, [=, &group](Request& request, Buffers& buffers, int* error) {
            if (!in_place) buffers.in = input(request, own, error);
            const std::uint64_t kept = in_place ? block : 0;
            if (*error == MPI_SUCCESS) {
                buffers.out = output_in_place(request, all, block * static_cast<std::uint64_t>(group.rank),
                                              kept, error);
            }
        });
    }
};

template <typename Count, typename Displacement>
struct AnyAllgatherv {
    static constexpr Collective collective = Collective::allgatherv;
    const void* send_buffer;
    Count send_count;
    MPI_Datatype send_type;
    void* receive_buffer;
    const Count* receive_counts;
    const Displacement* displacements;
    MPI_Datatype receive_type;

    bool plausible(const Communicator& group) const {
        return plausible_blocks(size(group), receive_counts, displacements, receive_type) &&
               (send_buffer == MPI_IN_PLACE || lapwing::plausible(send_count, send_type));
    }
    Started start(Communicator& group) const {
        const bool in_place = send_buffer == MPI_IN_PLACE;
        Blocks own;
        if (!in_place)
            own.add(group.rank, Elements(send_buffer, static_cast<std::uint64_t>(send_count), send_type));
        Blocks all = blocks_of(size(group), receive_buffer, receive_counts, displacements, receive_type);
        for (const Blocks* blocks : {&own, &all}) {
            if (blocks->error() != MPI_SUCCESS) return Started::failed_by(blocks->error());
        }
        Problem problem = {.collective = collective,
                           .ranks = group.ranks,
                           .bytes = all.bytes() / size(group),
                           .in_place = in_place};
        problem.parts.push_back({own.parts(), all.parts()});
        return lapwing::start(group, problem, [=, &group](Request& request, Buffers& buffers, int* error) {
            if (!in_place) buffers.in = own.input(request, error);
            if (*error != MPI_SUCCESS) return;
            buffers.out = in_place ? all.output_in_place(request, static_cast<std::size_t>(group.rank), error)
                                   : all.output(request, error);
        });
    }
};
using Allgatherv = AnyAllgatherv<int, int>;
using Allgatherv_c = AnyAllgatherv<MPI_Count, MPI_Aint>;

}  // namespace
}  // namespace lapwing

using namespace lapwing;

#define LAPWING_ALLGATHER(suffix, Count, Displacement)                                                      \
    LAPWING_FUNCTIONS(Iallgather##suffix, Allgather##suffix, Allgather_init##suffix, Allgather,             \
                      (const void* sent, Count send_count, MPI_Datatype send_type, void* received,          \
                       Count receive_count, MPI_Datatype receive_type),                                     \
                      (sent, send_count, send_type, received, receive_count, receive_type))                 \
    LAPWING_FUNCTIONS(Iallgatherv##suffix, Allgatherv##suffix, Allgatherv_init##suffix, Allgatherv##suffix, \
                      (const void* sent, Count send_count, MPI_Datatype send_type, void* received,          \
                       const Count* counts, const Displacement* displacements, MPI_Datatype receive_type),  \
                      (sent, send_count, send_type, received, counts, displacements, receive_type))
LAPWING_WITH_COUNTS(LAPWING_ALLGATHER)
