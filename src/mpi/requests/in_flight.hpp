// The collectives in flight: what runs, what is complete, and what can be used again.
#pragma once

#include <mpi.h>

#include <cstdint>

#include "mpi/native/count.hpp"
#include "mpi/requests/request.hpp"

namespace lapwing {

// All of these inside Entry.
Request* take_request(int* error);         // idle, with a handle; null with the MPI's error code
Request& add_request(MPI_Request handle);  // idle, with this handle
// Starts its problem on its own channel or the next of its group, as soon as that is settled.
void run(Request& request);
// At the end of the call that has started it and began then, where clocks are read. `blocking`: it waits,
// too.
void measure_start(Request& request, std::uint64_t began, bool blocking);
void give_back(Request& request);              // to be used again
Request* find_request(MPI_Request handle);     // the program's request, when it is one of ours and alive
Request* find_persistent(MPI_Request handle);  // when it is a persistent one of ours, inactive or not
int progress();                                // moves everything that runs; how many completed
int progress_of_all();                         // the same from the native MPI's progress
bool test(Request& request);                   // moves everything that runs; whether this one is complete
bool progress(Request& request);               // as test, by a caller who waits for just this
int prepare_to_sleep(Request& request);        // before a caller sleeps: see Prepared::prepare_to_sleep
void give_to_mpi(Request& request);            // completes it in the MPI's eyes
void give_complete_to_mpi();                   // and all that are complete
// Whether the MPI completes a request that is complete, because it was given to the MPI.
bool is_with_mpi(Request& request);

// The status of a request without a message.
void set_empty(MPI_Status* status);

// Requests of ours that the program holds, running or complete; not those that were given to the MPI, which
// answers for them. Read without Entry, for the short way.
extern Count live_requests;
extern Count running_requests;

// At the end of MPI: finishes what runs, for a while, and frees the kept requests. Outside of Entry.
void drain_requests();

// Waits until the agreement that begin_group() began is complete, before calls that are collective anyway.
// Outside of Entry.
void finish_group(Communicator& group);
// The same for a call that need not wait for the others: gives up after so many nanoseconds.
void finish_group(Communicator& group, std::uint64_t patience);

}  // namespace lapwing
