// What Lapwing keeps for one communicator of the program.
#pragma once

#include <mpi.h>

#include <atomic>
#include <cstdint>

#include "links/host_mpi.hpp"
#include "plan/planner.hpp"

namespace lapwing {

struct Group {
    Group(MPI_Comm comm, int own_rank, int size, const PlanOptions& options)
        : communicator(comm), rank(own_rank), ranks(size), planner(own_rank, ground, options) {}

    MPI_Comm communicator;  // the program's own
    int rank;
    int ranks;
    bool intercommunicator = false;
    bool begun = false;              // the link's duplicate has been asked for
    std::uint32_t next_channel = 0;  // counts collectives, equal on all ranks
    std::atomic<int> in_flight{0};
    HostMpiLink link;
    Ground ground{.messages = &link};
    Planner planner;
};

// The group of a valid communicator; made at its first use and freed with the communicator. Null, with the
// MPI's error code, when the MPI refuses. Call it outside of Entry: it may run the program's attribute
// callbacks.
Group* find_group(MPI_Comm communicator, int* error);

// Asks for the link's private duplicate, once; the same place in the order of collectives on all ranks.
// Call it outside of Entry, too.
int begin_link(Group& group);

// Frees what groups of freed communicators kept while something was in flight.
void free_groups();
// At the end of MPI: the others, too.
void free_all_groups();

}  // namespace lapwing
