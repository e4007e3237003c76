// The making of persistent collectives: requests that MPI_Start starts again and again.
#pragma once

#include <memory>

#include "mpi/requests/start.hpp"

namespace lapwing {

// Makes a request that start_again() starts. `persistence` has what the program's arguments need; it is left
// where no request is made. Collective: waits for the other ranks. Outside of Entry.
Started make_persistent(Communicator& group, Problem& problem, std::unique_ptr<const Preparation> preparation,
                        std::unique_ptr<Persistence>& persistence);

}  // namespace lapwing
