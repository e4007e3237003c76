// The MPI request that represents a persistent collective: a persistent receive of an empty message from this
// rank itself.
//
// The receive is inactive in the MPI while the collective is inactive, so the MPI's own functions treat it as
// the standard demands. It is started in the MPI only when the MPI must see it, because the program completes
// it together with requests of the MPI. A message that Lapwing sends then completes it.
#pragma once

#include <mpi.h>

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

}  // namespace lapwing
