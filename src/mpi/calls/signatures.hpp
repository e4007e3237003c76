// The parameters of MPI's collectives, without the communicator, and their names. `Count` is int, or
// MPI_Count in the functions with large counts.
#pragma once

#include <mpi.h>

#include <type_traits>

namespace lapwing {

template <typename Count>
using DisplacementOf = std::conditional_t<std::is_same_v<Count, int>, int, MPI_Aint>;

}  // namespace lapwing

#define LAPWING_BUFFER(Count) void *buffer, Count count, MPI_Datatype type, int root
#define LAPWING_BUFFER_NAMES buffer, count, type, root

// One block, or one for each rank at displacements, or one for each with a type of its own.
#define LAPWING_SENT(Count) const void *sent, Count send_count, MPI_Datatype send_type
#define LAPWING_SENT_NAMES sent, send_count, send_type
#define LAPWING_RECEIVED(Count) void *received, Count receive_count, MPI_Datatype receive_type
#define LAPWING_RECEIVED_NAMES received, receive_count, receive_type

#define LAPWING_SENT_BLOCKS(Count)                                                                       \
    const void *sent, const Count *send_counts, const lapwing::DisplacementOf<Count>*send_displacements, \
        MPI_Datatype send_type
#define LAPWING_SENT_BLOCKS_NAMES sent, send_counts, send_displacements, send_type
#define LAPWING_RECEIVED_BLOCKS(Count)                                                                       \
    void *received, const Count *receive_counts, const lapwing::DisplacementOf<Count>*receive_displacements, \
        MPI_Datatype receive_type
#define LAPWING_RECEIVED_BLOCKS_NAMES received, receive_counts, receive_displacements, receive_type

#define LAPWING_SENT_TYPED(Count, Displacement)                                         \
    const void *sent, const Count *send_counts, const Displacement *send_displacements, \
        const MPI_Datatype *send_types
#define LAPWING_SENT_TYPED_NAMES sent, send_counts, send_displacements, send_types
#define LAPWING_RECEIVED_TYPED(Count, Displacement)                                         \
    void *received, const Count *receive_counts, const Displacement *receive_displacements, \
        const MPI_Datatype *receive_types
#define LAPWING_RECEIVED_TYPED_NAMES received, receive_counts, receive_displacements, receive_types

#define LAPWING_OPERANDS(Count) const void *sent, void *received, Count count, MPI_Datatype type, MPI_Op op
#define LAPWING_OPERANDS_NAMES sent, received, count, type, op

// The functions with data exist twice since MPI-4: with counts that are ints, and with large ones.
// `functions` is a macro of (suffix, Count).
#if MPI_VERSION >= 4
#define LAPWING_WITH_COUNTS(functions) functions(, int) functions(_c, MPI_Count)
#else
#define LAPWING_WITH_COUNTS(functions) functions(, int)
#endif

// The content of a list in parentheses, with a comma behind it unless it is empty.
#define LAPWING_LIST(...) __VA_ARGS__ __VA_OPT__(, )
