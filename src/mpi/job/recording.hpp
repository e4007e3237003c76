// Records the program's calls in the journal (watch/journal.hpp).
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "watch/journal.hpp"

namespace lapwing {

// A handle of the MPI, which is an integer or a pointer.
template <typename Handle>
std::uint64_t word_of(Handle handle) {
    if constexpr (std::is_pointer_v<Handle>)
        return watch::word_of(handle);
    else
        return static_cast<std::uint32_t>(handle);
}

// After MPI_Init: begins the journal. `threads`: several threads may call MPI at once.
void begin_recording(bool threads);

// Adds a communicator. Returns null if its collectives are not recorded:
// it is an intercommunicator, or has ranks outside MPI_COMM_WORLD.
watch::CommunicatorRecord* add_to_journal(MPI_Comm communicator,
                                          watch::Journal::Added added = watch::Journal::Added::at_creation);
// A duplicate has the same members.
void add_duplicate_to_journal(MPI_Comm original, MPI_Comm duplicate);

// The record of a communicator; null if it has none.
inline watch::CommunicatorRecord* record_of(MPI_Comm communicator) {
    if (!watch::journal().begun() || communicator == MPI_COMM_NULL) return nullptr;
    bool known = false;
    watch::CommunicatorRecord* const record = watch::journal().find(word_of(communicator), &known);
    return known ? record : add_to_journal(communicator, watch::Journal::Added::at_first_use);
}

// Bytes of so many elements, by which ranks compare their calls: 0 for wrong arguments.
std::uint64_t recorded_bytes(MPI_Count count, MPI_Datatype type);
// Sets the type and the operator of a reduction. Predefined types of one kind and size count as one type. The
// types that a user's operator takes are not compared.
void record_reduction(watch::CallArguments& arguments, MPI_Op op, MPI_Datatype type);

// A snapshot of this rank, by any thread, without calls of the MPI.
inline watch::RankSnapshot snapshot_of_this_rank() {
    return watch::journal().snapshot();
}

}  // namespace lapwing

// For debuggers and tests: writes the encoded snapshot (watch::encode) of this rank. Returns its length in
// bytes, also if `capacity` is less: nothing is written then.
extern "C" __attribute__((visibility("default"))) std::size_t lapwing_snapshot(std::byte* bytes,
                                                                               std::size_t capacity);
