// One collective of one size: its buffers and its MPI call.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "task/problem.hpp"

namespace lapwing::tune {

// What measured_problem() says, as MPI has it.
class Call {
  public:
    Call(Collective collective, std::uint64_t bytes, int ranks);

    // Returns the MPI's error code. Throws Error (unsupported) for collectives with one algorithm only:
    // neighbours', scatterv.
    int start(MPI_Comm communicator, MPI_Request& request);

  private:
    Collective collective_;
    int count_ = 0;  // of bytes, or of doubles, in a block
    std::vector<std::byte> in_;
    std::vector<std::byte> out_;
    // Where blocks may differ in length.
    std::vector<int> counts_;
    std::vector<int> places_;
};

}  // namespace lapwing::tune
