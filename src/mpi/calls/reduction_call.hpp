// What the reductions share.
#pragma once

#include <mpi.h>

#include <cstdint>

#include "mpi/calls/arguments.hpp"
#include "mpi/native/reduction.hpp"

namespace lapwing {

inline bool plausible(MPI_Op op) {
    return op != MPI_OP_NULL && op != MPI_REPLACE && op != MPI_NO_OP;
}

// The arguments of reductions; in those that scatter with `Count` a list of counts, one for each rank.
template <typename Count>
struct ReductionArguments {
    const void* send_buffer;
    void* receive_buffer;
    Count count;
    MPI_Datatype type;
    MPI_Op op;

    bool in_place() const { return send_buffer == MPI_IN_PLACE; }
};

struct ReductionCall {
    MPI_Op op;
    Elements elements;        // where the result goes; of a rank without one, for their type and number only
    std::uint64_t input = 0;  // elements that the rank contributes; 0: as many as `elements`

    // `send_buffer` may be MPI_IN_PLACE; `receives`: the rank has a result, or its input in the place
    // of one.
    Started start(CallContext& context, Problem& problem, const void* send_buffer, bool receives) const;

  private:
    bool refused(const Problem& problem, const void* send_buffer, bool receives) const;
};

}  // namespace lapwing
