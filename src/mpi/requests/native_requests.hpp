// Collectives that the native MPI runs: their requests, so that the journal can tell when they are complete.
#pragma once

#include <mpi.h>

#include <atomic>
#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>

#include "watch/journal.hpp"

namespace lapwing {

// By any thread.
class NativeRequests {
  public:
    // Whether no request of the program can be one of these.
    static bool none() { return size_.load(std::memory_order_relaxed) == 0; }

    // `starts`: of a persistent collective; null otherwise.
    void add(MPI_Request handle, const watch::CallId& call, watch::CallRecord* starts);
    // The program frees a persistent request.
    void remove(MPI_Request handle);
    void start(MPI_Request handle);

  private:
    friend class NativeCompletion;
    struct One {
        watch::CallId call;
        watch::CallRecord* starts = nullptr;
        std::uint64_t number = 0;  // each request has its own: the MPI gives handles again
    };
    void complete(const One& one);

    static inline constinit std::atomic<std::size_t> size_{0};
    std::mutex mutex_;
    std::unordered_map<MPI_Request, One> all_;
    std::uint64_t numbers_ = 0;
};
NativeRequests& native_requests();

// Around a call of the MPI that may complete requests of an array.
class NativeCompletion {
  public:
    // `waits`: the call waits for them.
    NativeCompletion(int count, const MPI_Request* handles);
    // `now`: the same array after the call.
    void done(const MPI_Request* now);

  private:
    // What was in flight before the call. Another thread may have the same handle for another request by the
    // end of the call.
    struct Before {
        int position;  // in the array
        MPI_Request handle;
        std::uint64_t request;  // One::number, or HandleSet::Entry
    };
    std::vector<Before> ours_;  // collectives
    std::vector<Before> messages_;
};

}  // namespace lapwing
