// The tasks that need the processor, on any engine: copy and reduce.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "engines/memory.hpp"
#include "task/task.hpp"

namespace lapwing {

// target = source op target, element by element; `bytes` are whole elements; no alignment needed.
void reduce(Operator op, Type type, std::byte* target, const std::byte* source, std::uint64_t bytes);

// Does copies and reductions, in order; `tasks` are nothing else.
void work(const Memory& memory, std::span<const Task> tasks);

}  // namespace lapwing
