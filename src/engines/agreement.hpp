// Whether another implementation of an operator, such as the MPI's, computes what reduce() computes.
#pragma once

#include "engines/engine.hpp"
#include "task/task.hpp"

namespace lapwing {

// Reduces samples, which include rounding, infinities, NaN, both zeros and subnormal numbers, in both orders.
// Returns false if a result differs in a bit. Not compared: the bits of a NaN, and samples whose result
// depends on the order of the operands, such as the maximum of two zeros: a collective leaves that order
// open. `truth`: elements are 0 or 1.
bool agrees(Reducer& other, Operator op, Type type, bool truth);

}  // namespace lapwing
