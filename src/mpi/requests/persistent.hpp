// The state of a persistent request, which MPI_Start starts again and again.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "mpi/native/reduction.hpp"
#include "mpi/requests/persistent_handle.hpp"
#include "mpi/requests/user_buffers.hpp"

namespace lapwing {

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
