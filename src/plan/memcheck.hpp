// Valgrind's memcheck does not see what other processes and the kernel write into this process: results of
// collectives would be uninitialised values for it.
#pragma once

#include <cstddef>
#include <vector>

#include "task/list.hpp"

namespace lapwing::memcheck {

// What the list writes into out. Empty where the process does not run under memcheck, or Lapwing was built
// without its header.
std::vector<Span> written_by(const List& list);
// Tells memcheck that these spans of out are initialised.
void mark(const std::vector<Span>& written, std::byte* out);

}  // namespace lapwing::memcheck
