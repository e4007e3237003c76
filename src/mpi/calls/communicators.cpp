// Calls that make communicators, or end them.
//
// Open MPI makes the private duplicate (host_mpi.hpp) in steps, each a nonblocking collective on the
// program's communicator, whenever it comes by. Another making of a communicator of the same parent consists
// of such steps as well, and ranks that do not mix both in the same way wait for each other for ever. And it
// loses a duplication whose communicator is freed before it is made. All these calls are collective, so a
// rank may wait in them until the duplicate is there. MPI_Comm_idup must not wait for what comes after it on
// another rank, but nearly always may: it asks for the duplicate, so that this is never asked for while the
// program's own is on its way, and waits for it for a while. MPI_Comm_create_group is not for all ranks, and
// exchanges messages of its own.
#include <mpi.h>

#include "mpi/calls/exported.hpp"
#include "mpi/calls/init.hpp"
#include "mpi/native/guard.hpp"
#include "mpi/requests/communicator.hpp"
#include "mpi/requests/start.hpp"

namespace lapwing {
namespace {

template <typename Native>
int make_communicator(MPI_Comm parent, Native native) {
    if (!runtime.started || parent == MPI_COMM_NULL) return native();
    return guarded([&] {
        if (Communicator* group = existing_communicator(parent)) finish_group(*group);
        return native();
    });
}

#ifdef OPEN_MPI
// Who waits for a message that this rank sends only after it would wait in vain: it goes on after that.
constexpr std::uint64_t patience = 1'000'000'000;

template <typename Native>
int make_communicator_later(MPI_Comm parent, Native native) {
    if (parent == MPI_COMM_NULL || !takes_calls()) return native();
    return guarded([&] {
        int error = MPI_SUCCESS;
        Communicator* group = find_communicator(parent, &error);
        if (group != nullptr && !group->intercommunicator && begin_group(*group) == MPI_SUCCESS)
            finish_group(*group, patience);
        return native();
    });
}
#endif

template <typename Native>
int free_communicator(const MPI_Comm* communicator, Native native) {
    if (!runtime.started || communicator == nullptr) return native();
    return guarded([&] {
        if (Communicator* group = give_up_communicator(*communicator)) finish_group(*group);
        const int error = native();
        free_communicators();
        return error;
    });
}

}  // namespace
}  // namespace lapwing

using namespace lapwing;

// `parent` is the communicator that the call is collective over.
#define LAPWING_MAKES(function, parent, parameters, names)                              \
    LAPWING_MPI function parameters {                                                   \
        return make_communicator(parent, [&] { return LAPWING_NEXT(function) names; }); \
    }

LAPWING_MAKES(MPI_Comm_dup, comm, (MPI_Comm comm, MPI_Comm* made), (comm, made))
LAPWING_MAKES(MPI_Comm_split, comm, (MPI_Comm comm, int color, int key, MPI_Comm* made),
              (comm, color, key, made))
LAPWING_MAKES(MPI_Comm_split_type, comm, (MPI_Comm comm, int type, int key, MPI_Info info, MPI_Comm* made),
              (comm, type, key, info, made))
LAPWING_MAKES(MPI_Comm_create, comm, (MPI_Comm comm, MPI_Group group, MPI_Comm* made), (comm, group, made))
LAPWING_MAKES(MPI_Cart_create, comm,
              (MPI_Comm comm, int dimensions, const int sizes[], const int periods[], int reorder,
               MPI_Comm* made),
              (comm, dimensions, sizes, periods, reorder, made))
LAPWING_MAKES(MPI_Cart_sub, comm, (MPI_Comm comm, const int remaining[], MPI_Comm* made),
              (comm, remaining, made))
LAPWING_MAKES(MPI_Graph_create, comm,
              (MPI_Comm comm, int nodes, const int index[], const int edges[], int reorder, MPI_Comm* made),
              (comm, nodes, index, edges, reorder, made))
LAPWING_MAKES(MPI_Dist_graph_create, comm,
              (MPI_Comm comm, int nodes, const int sources[], const int degrees[], const int destinations[],
               const int weights[], MPI_Info info, int reorder, MPI_Comm* made),
              (comm, nodes, sources, degrees, destinations, weights, info, reorder, made))
LAPWING_MAKES(MPI_Dist_graph_create_adjacent, comm,
              (MPI_Comm comm, int indegree, const int sources[], const int source_weights[], int outdegree,
               const int destinations[], const int destination_weights[], MPI_Info info, int reorder,
               MPI_Comm* made),
              (comm, indegree, sources, source_weights, outdegree, destinations, destination_weights, info,
               reorder, made))
LAPWING_MAKES(MPI_Intercomm_create, comm,
              (MPI_Comm comm, int leader, MPI_Comm peer, int remote_leader, int tag, MPI_Comm* made),
              (comm, leader, peer, remote_leader, tag, made))
LAPWING_MAKES(MPI_Comm_spawn, comm,
              (const char* command, char* arguments[], int most, MPI_Info info, int root, MPI_Comm comm,
               MPI_Comm* made, int errors[]),
              (command, arguments, most, info, root, comm, made, errors))
LAPWING_MAKES(MPI_Comm_accept, comm,
              (const char* port, MPI_Info info, int root, MPI_Comm comm, MPI_Comm* made),
              (port, info, root, comm, made))
LAPWING_MAKES(MPI_Comm_connect, comm,
              (const char* port, MPI_Info info, int root, MPI_Comm comm, MPI_Comm* made),
              (port, info, root, comm, made))
// Windows and files have communicators inside.
LAPWING_MAKES(MPI_Win_create, comm,
              (void* base, MPI_Aint size, int unit, MPI_Info info, MPI_Comm comm, MPI_Win* made),
              (base, size, unit, info, comm, made))
LAPWING_MAKES(MPI_Win_allocate, comm,
              (MPI_Aint size, int unit, MPI_Info info, MPI_Comm comm, void* base, MPI_Win* made),
              (size, unit, info, comm, base, made))
LAPWING_MAKES(MPI_Win_allocate_shared, comm,
              (MPI_Aint size, int unit, MPI_Info info, MPI_Comm comm, void* base, MPI_Win* made),
              (size, unit, info, comm, base, made))
LAPWING_MAKES(MPI_Win_create_dynamic, comm, (MPI_Info info, MPI_Comm comm, MPI_Win* made), (info, comm, made))
LAPWING_MAKES(MPI_File_open, comm, (MPI_Comm comm, const char* name, int mode, MPI_Info info, MPI_File* made),
              (comm, name, mode, info, made))

#ifdef OPEN_MPI
LAPWING_MPI MPI_Comm_idup(MPI_Comm comm, MPI_Comm* made, MPI_Request* request) {
    return make_communicator_later(comm, [&] { return NEXT_Comm_idup(comm, made, request); });
}
#endif

LAPWING_MPI MPI_Comm_free(MPI_Comm* communicator) {
    return free_communicator(communicator, [&] { return NEXT_Comm_free(communicator); });
}

LAPWING_MPI MPI_Comm_disconnect(MPI_Comm* communicator) {
    return free_communicator(communicator, [&] { return NEXT_Comm_disconnect(communicator); });
}
