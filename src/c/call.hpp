// From the arguments of a C call to a problem.
#pragma once

#include <lapwing.h>

#include "c/group.hpp"
#include "task/problem.hpp"

namespace lapwing::c {

// A problem that this rank may start.
struct Call {
    Problem problem;
    CallersFunction function;
};

// Throws Error (invalid_argument).
Call call_of(const Group& group, const lapwing_problem& given);

// The buffers of a run, those that the rank needs. Throws Error (invalid_argument) when one is missing.
Buffers buffers_of(const Group& group, const Problem& problem, const void* in, void* out);

}  // namespace lapwing::c
