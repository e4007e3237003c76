// MPI_Igather and MPI_Igatherv.
#include "mpi/calls/call.hpp"

namespace lapwing {
namespace {

struct Gather {
    static constexpr Collective collective = Collective::gather;
    const void* send_buffer;
    MPI_Count send_count;
    MPI_Datatype send_type;
    void* receive_buffer;
    MPI_Count receive_count;
    MPI_Datatype receive_type;
    int root;

    bool plausible(const Communicator& group) const {
        if (!plausible_root(group, root)) return false;
        if (group.rank != root)
            return send_buffer != MPI_IN_PLACE && lapwing::plausible(send_count, send_type);
        return lapwing::plausible(receive_count, receive_type) &&
               (send_buffer == MPI_IN_PLACE || lapwing::plausible(send_count, send_type));
    }
    Started start(Communicator& group) const {
        const bool is_root = group.rank == root;
        const bool in_place = send_buffer == MPI_IN_PLACE;
        const std::uint64_t block = static_cast<std::uint64_t>(receive_count);
        const Elements own =
            in_place ? Elements() : Elements(send_buffer, static_cast<std::uint64_t>(send_count), send_type);
        const Elements all =
            is_root ? Elements(receive_buffer, block * static_cast<std::uint64_t>(group.ranks), receive_type)
                    : Elements();
        for (const Elements* elements : {&own, &all}) {
            if (elements->layout.error != MPI_SUCCESS) return Started::failed_by(elements->layout.error);
        }
        Problem problem = {.collective = collective,
                           .ranks = group.ranks,
                           .root = root,
                           .bytes = is_root ? block * all.layout.size : own.bytes(),
                           .in_place = is_root && in_place};
        return lapwing::start(group, problem, [=, *this](Request& request, Buffers& buffers, int* error) {
            if (!in_place) buffers.in = input(request, own, error);
            if (!is_root || *error != MPI_SUCCESS) return;
            const std::uint64_t kept = in_place ? block : 0;
            buffers.out =
                output_in_place(request, all, block * static_cast<std::uint64_t>(root), kept, error);
        });
    }
};

template <typename Count, typename Displacement>
struct AnyGatherv {
    static constexpr Collective collective = Collective::gatherv;
    const void* send_buffer;
    Count send_count;
    MPI_Datatype send_type;
    void* receive_buffer;
    const Count* receive_counts;
    const Displacement* displacements;
    MPI_Datatype receive_type;
    int root;

    bool plausible(const Communicator& group) const {
        if (!plausible_root(group, root)) return false;
        const bool is_root = group.rank == root;
        if (send_buffer == MPI_IN_PLACE ? !is_root : !lapwing::plausible(send_count, send_type)) return false;
        return !is_root || plausible_blocks(size(group), receive_counts, displacements, receive_type);
    }
    Started start(Communicator& group) const {
        const bool is_root = group.rank == root;
        const bool in_place = is_root && send_buffer == MPI_IN_PLACE;
        Blocks own;
        if (!in_place)
            own.add(root, Elements(send_buffer, static_cast<std::uint64_t>(send_count), send_type));
        Blocks all;
        if (is_root)
            all = blocks_of(size(group), receive_buffer, receive_counts, displacements, receive_type);
        for (const Blocks* blocks : {&own, &all}) {
            if (blocks->error() != MPI_SUCCESS) return Started::failed_by(blocks->error());
        }
        Problem problem = {
            .collective = collective, .ranks = group.ranks, .root = root, .in_place = in_place};
        problem.parts.push_back({own.parts(), all.parts()});
        return lapwing::start(group, problem, [=, *this](Request& request, Buffers& buffers, int* error) {
            if (!in_place) buffers.in = own.input(request, error);
            if (!is_root || *error != MPI_SUCCESS) return;
            buffers.out = in_place ? all.output_in_place(request, static_cast<std::size_t>(root), error)
                                   : all.output(request, error);
        });
    }
};

using Gatherv = AnyGatherv<int, int>;
using Gatherv_c = AnyGatherv<MPI_Count, MPI_Aint>;

}  // namespace
}  // namespace lapwing

using namespace lapwing;

#define LAPWING_GATHER(suffix, Count, Displacement)                                                       \
    LAPWING_FUNCTIONS(Igather##suffix, Gather##suffix, Gather_init##suffix, Gather,                       \
                      (const void* sent, Count send_count, MPI_Datatype send_type, void* received,        \
                       Count receive_count, MPI_Datatype receive_type, int root),                         \
                      (sent, send_count, send_type, received, receive_count, receive_type, root))         \
    LAPWING_FUNCTIONS(                                                                                    \
        Igatherv##suffix, Gatherv##suffix, Gatherv_init##suffix, Gatherv##suffix,                         \
        (const void* sent, Count send_count, MPI_Datatype send_type, void* received, const Count* counts, \
         const Displacement* displacements, MPI_Datatype receive_type, int root),                         \
        (sent, send_count, send_type, received, counts, displacements, receive_type, root))
LAPWING_WITH_COUNTS(LAPWING_GATHER)
