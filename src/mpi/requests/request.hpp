// The collectives that are in flight, and the MPI requests that the program holds for them.
//
// Such a request is a real one, a generalized request, so that calls that Lapwing does not take stay correct.
// Making one costs an allocation in the MPI, so a request that completes inside Lapwing's own calls is not
// completed in the MPI's eyes but kept for the next collective. Only when the MPI itself must know (the
// program waits for it in a call that is not ours, or together with requests that are not ours) is it
// completed there, and it is the MPI's then.
#pragma once

#include <mpi.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "engines/engine.hpp"
#include "mpi/native/datatype.hpp"
#include "mpi/native/reduction.hpp"
#include "mpi/requests/communicator.hpp"
#include "mpi/native/count.hpp"
#include "mpi/requests/persistent.hpp"

namespace lapwing {

// What remains to be done when the last byte has arrived: data to put where the program wants it.
struct Unpacking {
    const std::byte* bytes = nullptr;
    char* elements = nullptr;
    std::uint64_t count = 0;
    MPI_Datatype type = MPI_DATATYPE_NULL;  // owned, when it is derived: the program may free its own
    Layout layout;
};

struct Request {
    enum class State { idle, running, complete, given_to_mpi };

    MPI_Request handle = MPI_REQUEST_NULL;
    State state = State::idle;
    bool forgotten = false;  // freed by the program while running
    int error = MPI_SUCCESS;
    Communicator* group = nullptr;
    Plan* plan = nullptr;  // while it runs; null before its group is settled; may be forgotten afterwards
    Collective collective = Collective::barrier;
    Problem problem;  // of a start without a plan
    Buffers buffers;
    Operation* operation = nullptr;
    std::uint32_t channel = 0;
    std::size_t place = 0;  // among those that run
    Staging in_staging;
    Staging out_staging;
    std::vector<Unpacking> unpacking;
    MpiReducer reducer;
    std::uint64_t began = 0;             // nanoseconds: when the starting call began
    std::uint64_t started = 0;           // nanoseconds: when it returned
    std::uint64_t waited = 0;            // nanoseconds in calls that waited for it, so far
    std::uint64_t waiting_since = 0;     // when the present such call began; 0: none
    std::uint64_t completed = 0;         // nanoseconds: when its last byte had arrived, where clocks are read
    std::uint32_t operation_number = 0;  // in a trace; 0: it has none yet
    std::uint32_t starts = 0;            // of a persistent one, in a trace
    std::atomic<bool> freed{false};      // by the MPI; not yet collected
    Request* next_freed = nullptr;
    std::unique_ptr<Persistence> persistence;  // null: of a nonblocking call
};

// All of these inside Entry.
Request* take_request(int* error);         // idle, with a handle; null with the MPI's error code
Request& add_request(MPI_Request handle);  // idle, with this handle
// Starts its problem on its own channel or the next of its group, as soon as that is settled.
void run(Request& request);
// At the end of the call that has started it and began then, where clocks are read.
void measure_start(Request& request, std::uint64_t began);
void give_back(Request& request);              // to be used again
Request* find_request(MPI_Request handle);     // the program's request, when it is one of ours and alive
Request* find_persistent(MPI_Request handle);  // when it is a persistent one of ours, inactive or not
int progress();                                // moves everything that runs; how many completed
bool test(Request& request);                   // moves everything that runs; whether this one is complete
bool progress(Request& request);               // as test, by a caller who waits for just this
int prepare_to_sleep(Request& request);        // before a caller sleeps: see Prepared::prepare_to_sleep
void give_to_mpi(Request& request);            // completes it in the MPI's eyes
void give_complete_to_mpi();                   // and all that are complete
// Whether the MPI must answer for a request that has completed: it knows of it.
bool is_with_mpi(Request& request);

// The status of a request without a message.
void set_empty(MPI_Status* status);

// Requests of ours that the program holds, running or complete; not those that were given to the MPI, which
// answers for them. Read without Entry, for the short way.
extern Count live_requests;
extern Count running_requests;

// At the end of MPI: finishes what runs, for a while, and frees the kept requests. Outside of Entry.
void drain_requests();

}  // namespace lapwing
