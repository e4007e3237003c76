// Splits an element of a derived type into runs in the order of the type map, each with a type of its own.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <functional>

namespace lapwing {

// Calls `each(at, type, bytes)` for the runs of the element at `at`, of at most `max` bytes each, until one
// returns an error. The types of the runs are committed, and freed afterwards.
using EachRun = std::function<int(char* at, MPI_Datatype type, std::uint64_t bytes)>;
int take_apart(char* at, MPI_Datatype type, std::uint64_t max, const EachRun& each);

}  // namespace lapwing
