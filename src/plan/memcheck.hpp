// Valgrind's memcheck does not see what other processes and the kernel write into this process: results of
// collectives would be uninitialised values for it.
#pragma once

#include <memory>
#include <vector>

#include "engines/engine.hpp"
#include "task/list.hpp"

namespace lapwing::memcheck {

// What the list writes into out. Empty where the process does not run under memcheck, or Lapwing was built
// without its header.
std::vector<Span> written_by(const List& list);
// Returns a list that tells memcheck at each start that `written` is initialised; `prepared` itself if
// `written` is empty.
std::unique_ptr<Prepared> marking(std::unique_ptr<Prepared> prepared, std::vector<Span> written);

}  // namespace lapwing::memcheck
