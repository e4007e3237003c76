// The requests that the native MPI runs and Lapwing watches: collectives, so that the journal can tell when
// they are complete, and large messages, so that Lapwing's thread drives them (native/async_progress.hpp).
// One that is not watched has no overlap, and the watch does not know it.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <vector>

#include "base/object_pool.hpp"
#include "mpi/native/request_book.hpp"

namespace lapwing {

struct NativeRequest : WatchedRequest {
    NativeRequest() : WatchedRequest(RunBy::mpi) {}
    std::uint64_t number = 0;  // changes with each event: the MPI gives handles again
};

// All functions inside Entry.
class NativeRequests {
  public:
    // After a call that has made this request, of a message or of a collective: nonblocking, or persistent
    // and inactive. `starts`: of a persistent collective, null otherwise.
    void add_message(MPI_Request handle, std::uint64_t bytes, bool persistent);
    void add_collective(MPI_Request handle, const watch::CallId& call, bool persistent,
                        watch::CallRecord* starts);
    // The program has started the persistent request of this handle.
    void start(MPI_Request handle);
    // The program has freed the request.
    void remove(MPI_Request handle, NativeRequest& request);

  private:
    friend class NativeCompletion;
    NativeRequest& add(MPI_Request handle, bool persistent);
    void begin(NativeRequest& request);
    void end(NativeRequest& request);
    void release(MPI_Request handle, NativeRequest& request);

    ObjectPool<NativeRequest> pool_;
    std::uint64_t numbers_ = 0;
};
extern NativeRequests& native_requests;  // never destroyed, as the book

// Null if the handle is of no such request. Inside Entry.
NativeRequest* find_native(MPI_Request handle);

// Around a call of the MPI that may complete requests of an array. Outside of Entry.
class NativeCompletion {
  public:
    NativeCompletion(int count, const MPI_Request* handles);
    // `now`: the same array after the call.
    void done(const MPI_Request* now);

  private:
    struct Before {
        int position;  // in the array
        MPI_Request handle;
        NativeRequest* request;
        std::uint64_t number;
        bool persistent;
    };
    std::vector<Before> before_;
};

}  // namespace lapwing
