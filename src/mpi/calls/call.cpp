#include "mpi/calls/call.hpp"

#include "device/memory.hpp"
#include "mpi/calls/init.hpp"
#include "mpi/requests/start.hpp"

namespace lapwing {

Communicator* taking_communicator(MPI_Comm communicator, Collective collective) {
    if (communicator == MPI_COMM_NULL) return nullptr;
    if (!takes_calls()) {
        if (runtime.started) runtime.report.count_fallback(collective, runtime.why_not);
        return nullptr;
    }
    if (collective != Collective::barrier) device::look();  // 10 ns; a barrier has no buffers
    int error = MPI_SUCCESS;
    Communicator* group = find_communicator(communicator, &error);
    if (group == nullptr) return nullptr;  // the MPI will report the same error
    if (group->intercommunicator) {
        runtime.report.count_fallback(collective, Fallback::intercommunicator);
        return nullptr;
    }
    if (!group->in_world) {
        runtime.report.count_fallback(collective, Fallback::other_world);
        return nullptr;
    }
    if (!runtime.mode.lists_call_mpi && !advances_without_mpi(*group)) {
        runtime.report.count_fallback(collective, Fallback::no_hook);
        return nullptr;
    }
    if (group->left_to_mpi) {
        runtime.report.count_fallback(collective, *group->left_to_mpi);
        return nullptr;
    }
    return group;
}

}  // namespace lapwing
