// One collective in flight, and the MPI request that the program holds for it.
//
// The handle of a nonblocking collective is a generalized request of the MPI, so that functions that Lapwing
// does not replace work with it. Making one costs an allocation in the MPI. A request that completes inside
// Lapwing's own functions is therefore not completed in the MPI: its handle is used again for the next
// collective. The request is completed in the MPI only when the MPI must see its completion: the program
// waits in a function that Lapwing does not replace, or for some of several requests.
#pragma once

#include <mpi.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>

#include "engines/engine.hpp"
#include "mpi/native/reduction.hpp"
#include "mpi/native/request_book.hpp"
#include "mpi/requests/communicator.hpp"
#include "mpi/requests/persistent.hpp"
#include "mpi/requests/user_buffers.hpp"

namespace lapwing {

struct Request : WatchedRequest {
    Request() : WatchedRequest(RunBy::lapwing) {}

    MPI_Request handle{};    // of nonblocking collectives; without one, it is made for the next
    std::size_t index = 0;   // among the requests in flight
    bool forgotten = false;  // the program freed it while it ran
    // The thread that is inside a call that does not return before this request is complete.
    std::thread::id waiter;
    int error = MPI_SUCCESS;
    Communicator* group = nullptr;  // whose `in_flight` counts this request
    Plan* plan = nullptr;  // null before the group's links are known; may be evicted after completion
    Collective collective = Collective::barrier;
    Problem problem;  // of a start without a plan
    Buffers buffers;
    Operation* operation = nullptr;
    std::uint32_t channel = 0;
    PackedData packed;
    MpiReducer reducer;
    ProgramFloatingPoint floating_point;     // of a reduction
    std::unique_ptr<Persistent> persistent;  // null: of a nonblocking call

    // Nanoseconds of the steady clock, where clocks are read.
    std::uint64_t began = 0;          // the starting call began; 0: no clock was read
    std::uint64_t started = 0;        // the starting call returned
    std::uint64_t waited = 0;         // the sum of finished calls that waited for this request
    std::uint64_t waiting_since = 0;  // the present waiting call began; 0: none
    std::uint64_t completed = 0;

    std::atomic<bool> freed{false};  // the MPI freed the handle; see RequestTable::collect_freed
    Request* next_freed = nullptr;

    // Started, and not complete.
    bool in_flight() const { return state == RequestState::running || state == RequestState::arrived; }
    // Whether the MPI must complete the handle of this started request: it was given to the MPI, or the MPI
    // waits for it.
    bool completes_in_mpi() const {
        return persistent == nullptr ? state == RequestState::with_mpi
                                     : state == RequestState::inactive || persistent->handle.active();
    }

    // Before each start.
    void reset() {
        error = MPI_SUCCESS;
        operation = nullptr;
        waiter = {};
        waited = 0;
        waiting_since = 0;
        buffers = {};
    }
};

}  // namespace lapwing
