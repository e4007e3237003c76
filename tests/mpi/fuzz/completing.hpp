// Completes requests by every call that MPI has for it.
#pragma once

#include <mpi.h>

#include <vector>

#include "fuzz/data.hpp"

namespace fuzz {

// Each rank in ways of its own. Null and inactive requests may be among them.
void complete(std::vector<MPI_Request>& requests, Random& random);

}  // namespace fuzz
