// One collective in flight, and the MPI request that the program holds for it.
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

#include "device/host_memory.hpp"
#include "engines/engine.hpp"
#include "mpi/native/datatype.hpp"
#include "mpi/native/reduction.hpp"
#include "mpi/requests/communicator.hpp"
#include "mpi/requests/persistence.hpp"

namespace lapwing {

// What remains to be done when the last byte has arrived: data to unpack into the program's buffer.
struct Unpacking {
    const std::byte* bytes = nullptr;
    char* elements = nullptr;
    std::uint64_t count = 0;
    MPI_Datatype type = MPI_DATATYPE_NULL;  // owned, when it is derived: the program may free its own
    Layout layout;
    device::Location place;
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
    device::HostMemory device_staging;  // for buffers in the memory of a device
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

    // Before each start.
    void reset() {
        error = MPI_SUCCESS;
        operation = nullptr;
        waited = 0;
        waiting_since = 0;
        operation_number = 0;
    }
};

}  // namespace lapwing
