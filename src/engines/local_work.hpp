// The tasks that need the processor, on any engine: copy and reduce.
#pragma once

#include <cstddef>
#include <cstdint>

#include "task/task.hpp"

namespace lapwing {

// target = source op target, element by element; `bytes` are whole elements; no alignment needed.
void reduce(Operator op, Type type, std::byte* target, const std::byte* source, std::uint64_t bytes);

}  // namespace lapwing
