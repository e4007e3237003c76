// Valgrind's memcheck does not see what other processes and the kernel write into this process: results of
// collectives would be uninitialised values for it.
#pragma once

#include <memory>

#include "engines/engine.hpp"
#include "task/list.hpp"

namespace lapwing {

// Returns a list that tells memcheck at each start that what the list writes into out is initialised. Returns
// `prepared` itself where the process does not run under memcheck, or Lapwing was built without its header.
std::unique_ptr<Prepared> with_memcheck(std::unique_ptr<Prepared> prepared, const List& list);

}  // namespace lapwing
