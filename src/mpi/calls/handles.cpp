// Operators and datatypes that the program frees. What collectives in flight need stays until they are
// complete.
#include <mpi.h>

#include "mpi/calls/exported.hpp"
#include "mpi/job/runtime.hpp"
#include "mpi/native/entry.hpp"
#include "mpi/native/reduction.hpp"

namespace lapwing {
namespace {

template <typename Handle>
int free_handle(Handle* handle, Handle none, bool (*is_held)(Handle), int (*free)(Handle*)) {
    if (handle == nullptr || !runtime.started) return free(handle);
    {
        const Entry entry;
        if (is_held(*handle)) {
            *handle = none;
            return MPI_SUCCESS;
        }
    }
    return free(handle);
}

}  // namespace
}  // namespace lapwing

using namespace lapwing;

LAPWING_MPI MPI_Op_free(MPI_Op* op) {
    return free_handle(op, MPI_OP_NULL, keeps_operator, NEXT_Op_free);
}

LAPWING_MPI MPI_Type_free(MPI_Datatype* type) {
    return free_handle(type, MPI_DATATYPE_NULL, keeps_type, NEXT_Type_free);
}
