// What Lapwing keeps for one communicator of the program.
//
// The registry (communicator.cpp) owns all of them. A thread of the program may use one without a lock as
// long as MPI lets it use the MPI's communicator. What ends a communicator comes in this order, by any
// threads: the program frees it, from when on the registry does not find it; the MPI calls back, because it
// has freed its own; the last collective in flight completes. Only then is it destroyed, inside Entry, by the
// next thread that creates or frees a communicator. No thread waits for another thread meanwhile.
#pragma once

#include <mpi.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "job/group.hpp"
#include "links/mpi/mpi_link.hpp"
#include "links/mpi/tags.hpp"
#include "mpi/job/recording.hpp"
#include "mpi/job/report.hpp"
#include "mpi/native/entry.hpp"
#include "mpi/requests/user_buffers.hpp"

namespace lapwing {

struct Request;

struct Communicator {
    Communicator(MPI_Comm comm, int own_rank, int size, const PlanOptions& default_options)
        : communicator(comm), rank(own_rank), ranks(size), options(default_options) {}
    ~Communicator();

    MPI_Comm communicator;  // the program's own
    int rank;
    int ranks;
    bool intercommunicator = false;
    bool in_world = false;              // all ranks are in MPI_COMM_WORLD
    std::vector<int> members;           // their ranks there, until the group has them
    std::atomic<bool> given_up{false};  // by the thread that frees the communicator, or the MPI's callback
    // For the registry: the MPI has called back.
    bool freed_by_mpi = false;
    Communicator* next_freed = nullptr;
    std::optional<Fallback> left_to_mpi;  // by a hint, or revoked by this rank
    PlanOptions options;                  // hints may change them before the first collective
    // Requests that the program holds, and starts of persistent ones in flight: this lives as long, because
    // the program may free the communicator before it waits.
    Count in_flight;
    // Channels of the group's link, each for one collective. Equal on all ranks, which start collectives in
    // the same order.
    std::uint32_t next_channel = 0;
    std::uint32_t next_persistent_channel = 0;
    BlockMemory block_memory;
    const Engine* engine_used = nullptr;  // by the last collective
    std::uint32_t trace_number = 0;       // of this communicator in a trace; 0: it has none yet

    // The first collective makes the group and begins the agreement of its ranks; the group is opened when
    // that is complete. Collectives that start before wait for it, because a start must not wait for a peer.
    std::vector<Request*> waiting;  // in order
    // The agreement is a maximum over all ranks, see JobGroup::claim() and JobGroup::open(). Where the group
    // needs the MPI's messages, each rank gets the claims of all ranks instead, which end with their slots.
    std::vector<std::uint64_t> claim;
    std::vector<std::uint64_t> agreed;
    std::uint32_t slot = slot_of_all;
    MPI_Request agreement = MPI_REQUEST_NULL;

    // Whose error handler an error of a request goes to.
    MPI_Comm of_errors() const { return given_up ? MPI_COMM_NULL : communicator; }
    bool begun() const { return group.has_value(); }
    bool is_open() const { return begun() && group->is_open(); }
    Planner& planner() { return group->planner(); }  // once it is open

    std::optional<MpiLink> link;    // if the group needs it; outlives the group
    std::optional<JobGroup> group;  // empty before the first collective
};

// What Lapwing keeps for a valid communicator; made at its first use and freed with the communicator. Null,
// with the MPI's error code, when the MPI refuses. Must not be called inside Entry (mpi/native/entry.hpp),
// because it may run the program's attribute callbacks.
Communicator* find_or_make(MPI_Comm communicator, int* error);
inline Communicator* find_communicator(MPI_Comm communicator, int* error) {
    const KnownCommunicator& known = known_communicator(communicator);
    *error = MPI_SUCCESS;
    return known.kept != nullptr ? known.kept : find_or_make(communicator, error);
}

// Makes the communicator's group and begins the agreement of its ranks, once; at the same place in the order
// of collectives on all ranks. Returns the MPI's error code. Must not be called inside Entry either.
int make_group(Communicator& communicator);
inline int begin_group(Communicator& communicator) {
    return communicator.begun() ? MPI_SUCCESS : make_group(communicator);
}
// Opens the group if its ranks have agreed. Returns whether it is open. Inside Entry. Throws MpiError.
bool open_agreed_group(Communicator& communicator);
inline bool open_group(Communicator& communicator) {
    return communicator.is_open() || open_agreed_group(communicator);
}

// The program has started no collective yet: hints may change the options again.
void unmake_group(Communicator& communicator);

// Null when the communicator had no collective yet.
Communicator* existing_communicator(MPI_Comm communicator);
// The program frees this communicator: find_communicator() does not find it from now on.
void give_up(Communicator& communicator);

// Destroys what is kept for communicators that are freed and idle. Outside of Entry.
void free_communicators();
// At the end of MPI: the same for communicators that the program has not freed. Before that, calls `finish`
// for each of them.
void free_all_communicators(const std::function<void(Communicator&)>& finish);

}  // namespace lapwing
