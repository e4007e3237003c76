// The collectives in flight, and the requests that can be used again.
#pragma once

#include <mpi.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "mpi/native/entry.hpp"
#include "mpi/requests/request.hpp"

namespace lapwing {

// All lists of this process; the book has their states. A request in no collective is free. A persistent
// collective borrows one until the program frees it.
//
// All functions inside Entry unless they say otherwise.
class RequestTable {
  public:
    // Returns an idle request with a handle for the next nonblocking collective of the group; it stays idle
    // until launch(). Null, with the MPI's error code, if the MPI has no handle.
    Request* take(Communicator& group, int* error);
    // Returns an idle request of this persistent collective.
    Request& lend(Communicator& group, std::unique_ptr<Persistent> persistent);

    // Starts the request with these buffers, or puts its list off until its group's links are known. `began`:
    // when the program's call began; 0 where no clocks are read. Returns the MPI's error code, after the
    // request has been released.
    int launch(Request& request, const UserBuffers& user, std::uint64_t began, bool blocking);
    // Makes a complete or unused request idle; and free, unless the program has a persistent one.
    void release(Request& request);
    // The program frees this request, which may run: it is released when it is complete.
    void forget(Request& request);

    // Returns the request with this handle, if the program has started it and has not seen its completion.
    // Null otherwise.
    static Request* find(MPI_Request handle);
    // Returns the persistent request with this handle, started or not; null if there is none.
    static Request* find_persistent(MPI_Request handle);

    // Advances everything that runs; requests that this thread waits for only if `waits`. Returns how many
    // requests completed. `calls_mpi`: the caller may call the MPI.
    int progress(bool calls_mpi = true, bool waits = false);
    // Advances everything that runs. Returns whether this request is complete.
    bool test(Request& request);
    // Advances everything that runs. Returns whether these requests are complete. The caller must not return
    // to the program before they are.
    bool progress(std::span<Request* const> waited_for);
    bool progress(Request& waited_for);

    // Completes a complete request in the MPI; does nothing with others.
    void give_to_mpi(Request& request);
    // The same for all complete requests that the MPI may wait for.
    void give_all_to_mpi();
    // Takes back what the MPI has freed.
    void collect_freed();

    // Before MPI_Finalize, outside of Entry: waits up to `patience` nanoseconds for running collectives, and
    // frees the handles. Returns false, with a message on standard error, if a collective still runs.
    bool drain(std::uint64_t patience);

  private:
    static int query(void* request, MPI_Status* status);
    static int freed(void* request);
    static int cancel(void* request, int complete);

    void insert(MPI_Request handle, Request& request);
    Request& free_request(Communicator& group);
    void leave_group(Request& request);
    void return_to_pool(Request& request);
    bool begin_waiting(Communicator& group);
    bool advance(Request& request, bool waited_for, bool calls_mpi = true);
    void finish(Request& request);
    void free_persistent(Request& request);

    std::vector<std::unique_ptr<Request>> all_;
    std::vector<Request*> running_;
    std::vector<Request*> free_;
    // Requests whose handles the MPI has freed. A stack without a lock: the MPI frees a handle inside a call
    // of any thread while it holds locks of its own.
    std::atomic<Request*> freed_{nullptr};
};

extern NeverDestroyed<RequestTable> never_destroyed_table;
inline RequestTable& request_table = never_destroyed_table.object;

// Advances everything that runs, from the progress of the native MPI or by Lapwing's thread. Inside Entry.
int progress_of_all();

// A list has completed since a look() last found nothing.
inline constinit std::atomic<bool> list_completed{false};

// A call that looks once whether something of the MPI has happened: `native` sets the flag. A peer may have
// sent messages before its part of a list that is complete here. The MPI's own collective would have received
// them while it waited, so the program finds them now: each look is one step of the progress of the MPI.

template <typename Native>
int look(const int* flag, Native native) {
    // Open MPI receives up to 31 messages of its shared memory in a step. MPICH receives one, of 64 that may
    // wait there.
#ifdef OPEN_MPI
    constexpr int max_steps = 16;
#else
    constexpr int max_steps = 64;
#endif
    int error = native();
    if (!list_completed.load(std::memory_order_relaxed) || flag == nullptr) return error;
    for (int i = 0; i < max_steps && error == MPI_SUCCESS && *flag == 0; ++i) error = native();
    if (error == MPI_SUCCESS && *flag == 0) list_completed.store(false, std::memory_order_relaxed);
    return error;
}

// Sets the status of a request without a message.
void set_empty(MPI_Status* status);

}  // namespace lapwing
