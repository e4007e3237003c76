// TCP connections between the ranks, for barriers in which ranks sleep.
#pragma once

#include <mpi.h>

#include <vector>

#include "links/tcp/sockets.hpp"

namespace lapwing::bench {

class Mesh {
  public:
    // Connects the ranks of the communicator; collective. Throws Error when a rank cannot be reached within
    // half a minute.
    explicit Mesh(MPI_Comm communicator);

    // A barrier. Waiting ranks sleep and so do not disturb ranks that still compute. Ranks leave it tens of
    // microseconds apart.
    void sleeping_barrier() { barrier(true); }
    // The same for ranks that all arrive soon: waiting ranks yield and poll again.
    void yielding_barrier() { barrier(false); }

  private:
    // Of a dissemination barrier, in which the distance to the peers doubles: the connections to the rank
    // that is so far behind this one, and from the rank before it.
    struct Step {
        int distance;
        tcp::Socket to;
        tcp::Socket from;
    };

    void barrier(bool sleep);

    std::vector<Step> steps_;
};

}  // namespace lapwing::bench
