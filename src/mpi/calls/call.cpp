#include "mpi/calls/call.hpp"

#include "device/memory.hpp"

namespace lapwing {

Communicator* taking_communicator(MPI_Comm communicator, Collective collective) {
    if (communicator == MPI_COMM_NULL) return nullptr;
    const auto leave = [collective](Fallback reason) -> Communicator* {
        runtime.report.count_fallback(collective, reason);
        return nullptr;
    };
    if (!takes_calls()) return runtime.started ? leave(runtime.why_not) : nullptr;
    if (collective != Collective::barrier) device::look();  // 10 ns; a barrier has no buffers
    int error = MPI_SUCCESS;
    Communicator* group = find_communicator(communicator, &error);
    if (group == nullptr) return nullptr;  // the MPI will report the same error
    if (group->intercommunicator) return leave(Fallback::intercommunicator);
    if (!group->in_world) return leave(Fallback::other_world);
    if (!runtime.mode.lists_call_mpi && group->ranks > 1 && (!group->begun() || group->group->needs_link()))
        return leave(Fallback::no_hook);
    return group->left_to_mpi ? leave(*group->left_to_mpi) : group;
}

}  // namespace lapwing
