// The host engine: the processor of the caller runs the list, inside start, test and wait ("manual
// progress"), or the context's progress thread does, beside the caller. It runs anywhere and every list, and
// is the baseline of all others: it does what LibNBC does (Hoefler, Lumsdaine, Rehm 2007, "Implementation and
// Performance Analysis of Non-Blocking Collective Operations for MPI").
#pragma once

#include "engines/engine.hpp"

namespace lapwing {

const Engine& host_engine();

}  // namespace lapwing
