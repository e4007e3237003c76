// What Lapwing keeps for one communicator of the program.
#pragma once

#include <mpi.h>

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "links/mpi/mpi_link.hpp"
#include "mpi/native/count.hpp"
#include "plan/group_engines.hpp"

namespace lapwing {

struct Request;

struct Communicator {
    Communicator(MPI_Comm comm, int own_rank, int size, const PlanOptions& usual)
        : communicator(comm), rank(own_rank), ranks(size), options(usual), engines(own_rank, options) {}

    MPI_Comm communicator;  // the program's own; null when it has been freed
    int rank;
    int ranks;
    bool intercommunicator = false;
    bool left_to_mpi = false;        // by a hint: engine "mpi"
    std::uint32_t next_channel = 0;  // counts collectives, equal on all ranks
    Count in_flight;                 // and persistent ones that are kept

    // Of persistent collectives. Lanes as bits, of the connections' kept ones.
    std::uint32_t next_kept_channel = 0;  // counts them, equal on all ranks
    std::uint32_t lanes_kept = 0;         // by one of them, on this rank
    std::uint32_t lanes_opened = 0;       // ever, equal on all ranks: their descriptors are set aside
    PlanOptions options;                  // may be changed by hints, until it has begun

    // Links are made once, beginning with the first collective. What takes an agreement of all ranks is
    // asked for there and awaited later, because a start must not wait for anybody.
    bool begun = false;
    bool wants_memory = false;         // some of its ranks share memory
    bool all_intra_node = false;       // all of them do
    bool wants_connections = false;    // an engine that needs them may take it
    bool wants_fabric = false;         // a fabric joins its hosts
    bool wants_deferred_work = false;  // an engine that needs it may take it
    bool needs_native_link() const { return !all_intra_node && !wants_fabric; }
    bool settled = false;           // it is known which links there are
    std::deque<Request*> deferred;  // started before that, in order
    MPI_Request agreement = MPI_REQUEST_NULL;
    // The group's number, from rank 0; whether this rank has no descriptors, and no counters, for it.
    std::uint64_t claim[3] = {0, 0, 0};
    std::uint64_t agreed[3] = {0, 0, 0};         // the greatest of all ranks'
    std::vector<int> members;                    // places of its ranks in MPI_COMM_WORLD
    std::shared_ptr<const Placement> placement;  // of its problems; null when they have none
    bool holds_descriptors = false;
    bool holds_counters = false;
    const Engine* engine_used = nullptr;  // by the last collective
    std::uint32_t trace_number = 0;       // of a trace; 0: it has none yet

    // In this order: what stands below uses what stands above.
    MpiLink link;  // begun where it is needed
    std::unique_ptr<Connections> connections;
    GroupEngines engines;
};

// The group that this thread used last, as long as none has been given up since: no other thread may free its
// communicator while this one uses it.
struct LastCommunicator {
    Communicator* group = nullptr;
    MPI_Comm communicator{};
    std::uint64_t given_up = 0;
};
extern constinit thread_local LastCommunicator last_communicator;
extern std::atomic<std::uint64_t> communicators_given_up;  // so far

// The group of a valid communicator; made at its first use and freed with the communicator. Null, with the
// MPI's error code, when the MPI refuses. Call it outside of Entry: it may run the program's attribute
// callbacks.
Communicator* find_communicator_among_all(MPI_Comm communicator, int* error);
inline Communicator* find_communicator(MPI_Comm communicator, int* error) {
    const LastCommunicator& last = last_communicator;
    if (last.communicator != communicator || last.group == nullptr ||
        last.given_up != communicators_given_up.load(std::memory_order_acquire)) {
        return find_communicator_among_all(communicator, error);
    }
    *error = MPI_SUCCESS;
    return last.group;
}

// Asks for the group's links, once; the same place in the order of collectives on all ranks. Gives back the
// MPI's error code. Call it outside of Entry, too.
int begin_links(Communicator& group);
// Whether it is known which links the group has. Inside Entry.
bool settle(Communicator& group);

// Null when the communicator had no collective yet.
Communicator* existing_communicator(MPI_Comm communicator);
// The same; it is found no more, because its communicator is about to be freed.
Communicator* give_up_communicator(MPI_Comm communicator);

// Frees what groups of freed communicators kept while something was in flight.
void free_communicators();
// At the end of MPI: the others, too; `finish` waits for what begin_links() has asked for.
void free_all_communicators(void (*finish)(Communicator&));

}  // namespace lapwing
