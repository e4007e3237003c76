// Persistent requests, which MPI_Start starts again and again.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "mpi/native/reduction.hpp"
#include "mpi/requests/user_buffers.hpp"

namespace lapwing {

// Inside Entry.
class PersistentHandle {
  public:
    int make(MPI_Request* handle);  // returns the MPI's error code
    void start(MPI_Request handle);
    // Whether the receive is active in the MPI.
    bool active() const { return active_; }
    // Completes the receive, and starts it first if it is inactive. Its status has an error if `error` is
    // one.
    void complete(MPI_Request handle, int error);
    // Frees the receive, and completes it first if it is active.
    void free(MPI_Request handle, int error);

  private:
    int tag_ = 0;
    bool active_ = false;
};

// What a persistent request has beside a nonblocking one, from its creation until the program frees it.
struct Persistent {
    PersistentHandle handle;
    UserBuffers buffers;  // with duplicates of the program's datatypes
    std::uint32_t channel = 0;
    MpiReducer reduction;  // holds the operator

    explicit Persistent(const UserBuffers& given);
    Persistent(const Persistent&) = delete;
    Persistent& operator=(const Persistent&) = delete;
    ~Persistent();  // inside Entry if it holds an operator

  private:
    MPI_Datatype duplicate(MPI_Datatype type);
    std::vector<std::pair<MPI_Datatype, MPI_Datatype>> duplicates_;  // the program's type, ours
};

}  // namespace lapwing
