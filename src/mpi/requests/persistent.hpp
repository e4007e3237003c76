// Persistent requests, which MPI_Start starts again and again.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <vector>

#include "mpi/native/reduction.hpp"
#include "mpi/requests/user_buffers.hpp"

namespace lapwing {

// The receive whose handle the program holds. Inside Entry.
class PersistentHandle {
  public:
    int make();  // returns the MPI's error code
    MPI_Request get() const { return handle_; }
    void start();
    // Whether the receive is active in the MPI.
    bool active() const { return active_; }
    // Completes the receive, and starts it first if it is inactive. Its status has an error if `error` is
    // one.
    void complete(int error);
    // Frees the receive, and completes it first if it is active.
    void free(int error);

  private:
    MPI_Request handle_ = MPI_REQUEST_NULL;
    int tag_ = 0;
    bool active_ = false;
};

// A persistent collective, from its creation until the program frees it. It has borrowed a request meanwhile.
struct Persistent {
    PersistentHandle handle;
    UserBuffers buffers;       // whose datatypes are held
    MpiReducer reduction;      // holds the operator and its type
    std::uint32_t starts = 0;  // in a trace

    // Both inside Entry.
    explicit Persistent(const UserBuffers& given);
    Persistent& operator=(Persistent&&) = delete;
    ~Persistent();
};

}  // namespace lapwing
