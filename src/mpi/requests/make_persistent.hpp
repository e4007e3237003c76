// Makes persistent collectives: requests that MPI_Start starts again and again.
#pragma once

#include "mpi/requests/started.hpp"
#include "mpi/requests/user_buffers.hpp"

namespace lapwing {

struct Communicator;

// Makes an inactive request. Collective: waits for the other ranks. Outside of Entry.
Started make_persistent(Communicator& group, Problem& problem, const UserBuffers& buffers);

}  // namespace lapwing
