// What the reductions share.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <type_traits>

#include "mpi/calls/arguments.hpp"
#include "mpi/native/reduction.hpp"

namespace lapwing {

inline bool plausible(MPI_Op op) {
    return op != MPI_OP_NULL && op != MPI_REPLACE && op != MPI_NO_OP;
}

// The arguments of a reduction. `Count` is a list of counts, one for each rank, in MPI_Reduce_scatter.
template <typename Count>
struct ReductionArguments {
    const void* send_buffer;
    void* receive_buffer;
    Count count;
    MPI_Datatype type;
    MPI_Op op;

    bool in_place() const { return send_buffer == MPI_IN_PLACE; }
    watch::CallArguments recorded(int root = -1) const {
        watch::CallArguments arguments{.root = root};
        if constexpr (!std::is_pointer_v<Count>) arguments.bytes = recorded_bytes(count, type);
        record_reduction(arguments, op, type);
        return arguments;
    }
    Transfer transfer(const Volume& data) const {
        return {.bytes = data.bytes,
                .sent = data.bytes,
                .received = data.bytes,
                .in_place = in_place(),
                .type = type,
                .operation = op,
                .received_counts = data.counts};
    }
    Transfer transfer() const { return transfer({bytes_of(count, type)}); }
};

struct Operands {
    MPI_Op op;
    const void* send_buffer;  // may be MPI_IN_PLACE
    Elements result;          // on a rank without a result, only its type and count have a meaning
    std::uint64_t sent;       // elements that the rank contributes
    bool receives;            // the rank has a result, or its input is in the receive buffer
};

// Completes the description of a reduction. Returns false if the native MPI must run it.
bool describe_operands(Problem& problem, UserBuffers& buffers, const Operands& operands);

}  // namespace lapwing
