// MPI_Iscatter and MPI_Iscatterv.
#include "mpi/calls/call.hpp"

namespace lapwing {
namespace {

struct Scatter {
    static constexpr Collective collective = Collective::scatter;
    const void* send_buffer;
    MPI_Count send_count;
    MPI_Datatype send_type;
    void* receive_buffer;
    MPI_Count receive_count;
    MPI_Datatype receive_type;
    int root;

    bool plausible(const Communicator& group) const {
        if (!plausible_root(group, root)) return false;
        const bool is_root = group.rank == root;
        if (is_root && !lapwing::plausible(send_count, send_type)) return false;
        return receive_buffer == MPI_IN_PLACE ? is_root : lapwing::plausible(receive_count, receive_type);
    }
    Started start(Communicator& group) const {
        const bool is_root = group.rank == root;
        const bool in_place = receive_buffer == MPI_IN_PLACE;
        const std::uint64_t block = static_cast<std::uint64_t>(send_count);
        const Elements all =
            is_root ? Elements(send_buffer, block * static_cast<std::uint64_t>(group.ranks), send_type)
                    : Elements();
        const Elements own =
            in_place ? Elements()
                     : Elements(receive_buffer, static_cast<std::uint64_t>(receive_count), receive_type);
        for (const Elements* elements : {&own, &all}) {
            if (elements->layout.error != MPI_SUCCESS) return Started::failed_by(elements->layout.error);
        }
        Problem problem = {.collective = collective,
                           .ranks = group.ranks,
                           .root = root,
                           .bytes = is_root ? block * all.layout.size : own.bytes(),
                           .in_place = in_place};
        return lapwing::start(group, problem, [=](Request& request, Buffers& buffers, int* error) {
            if (is_root) buffers.in = input(request, all, error);
            if (!in_place && *error == MPI_SUCCESS) buffers.out = output(request, own, error);
        });
    }
};

template <typename Count, typename Displacement>
struct AnyScatterv {
    static constexpr Collective collective = Collective::scatterv;
    const void* send_buffer;
    const Count* send_counts;
    const Displacement* displacements;
    MPI_Datatype send_type;
    void* receive_buffer;
    Count receive_count;
    MPI_Datatype receive_type;
    int root;

    bool plausible(const Communicator& group) const {
        if (!plausible_root(group, root)) return false;
        const bool is_root = group.rank == root;
        if (is_root && !plausible_blocks(size(group), send_counts, displacements, send_type)) return false;
        return receive_buffer == MPI_IN_PLACE ? is_root : lapwing::plausible(receive_count, receive_type);
    }
    Started start(Communicator& group) const {
        const bool is_root = group.rank == root;
        const bool in_place = receive_buffer == MPI_IN_PLACE;
        Blocks all;
        if (is_root) all = blocks_of(size(group), send_buffer, send_counts, displacements, send_type);
        Blocks own;
        if (!in_place)
            own.add(root, Elements(receive_buffer, static_cast<std::uint64_t>(receive_count), receive_type));
        for (const Blocks* blocks : {&own, &all}) {
            if (blocks->error() != MPI_SUCCESS) return Started::failed_by(blocks->error());
        }
        Problem problem = {
            .collective = collective, .ranks = group.ranks, .root = root, .in_place = in_place};
        problem.parts.push_back({all.parts(), own.parts()});
        return lapwing::start(group, problem, [=](Request& request, Buffers& buffers, int* error) {
            if (is_root) buffers.in = all.input(request, error);
            if (!in_place && *error == MPI_SUCCESS) buffers.out = own.output(request, error);
        });
    }
};
using Scatterv = AnyScatterv<int, int>;
using Scatterv_c = AnyScatterv<MPI_Count, MPI_Aint>;

}  // namespace
}  // namespace lapwing

using namespace lapwing;

#define LAPWING_SCATTER(suffix, Count, Displacement)                                                       \
    LAPWING_FUNCTIONS(Iscatter##suffix, Scatter##suffix, Scatter_init##suffix, Scatter,                    \
                      (const void* sent, Count send_count, MPI_Datatype send_type, void* received,         \
                       Count receive_count, MPI_Datatype receive_type, int root),                          \
                      (sent, send_count, send_type, received, receive_count, receive_type, root))          \
    LAPWING_FUNCTIONS(                                                                                     \
        Iscatterv##suffix, Scatterv##suffix, Scatterv_init##suffix, Scatterv##suffix,                      \
        (const void* sent, const Count* counts, const Displacement* displacements, MPI_Datatype send_type, \
         void* received, Count receive_count, MPI_Datatype receive_type, int root),                        \
        (sent, counts, displacements, send_type, received, receive_count, receive_type, root))
LAPWING_WITH_COUNTS(LAPWING_SCATTER)
