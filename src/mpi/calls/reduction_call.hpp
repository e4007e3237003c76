// What the reductions share.
#pragma once

#include "mpi/calls/call.hpp"
#include "mpi/native/reduction.hpp"

namespace lapwing {

inline bool plausible(MPI_Op op) {
    return op != MPI_OP_NULL && op != MPI_REPLACE && op != MPI_NO_OP;
}

struct ReductionCall {
    MPI_Op op;
    Elements elements;        // where the result goes; of a rank without one, for their type and number only
    std::uint64_t input = 0;  // elements that the rank contributes; 0: as many as `elements`

    // `send_buffer` may be MPI_IN_PLACE; `receives`: the rank has a result, or its input stands where one
    // would.
    Started start(Communicator& group, Problem problem, const void* send_buffer, bool receives) const;
};

}  // namespace lapwing
