// Copies and reductions by the processor, for all engines.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "engines/memory.hpp"
#include "task/task.hpp"

namespace lapwing {

// target = source op target, element by element. `bytes` must be a multiple of the element. No alignment is
// needed.
void reduce(Operator op, Type type, std::byte* target, const std::byte* source, std::uint64_t bytes);

// The same for a run, also by the caller's own operator.
void reduce(const Buffers& buffers, Operator op, Type type, std::byte* target, const std::byte* source,
            std::uint64_t bytes);

// Does the tasks in order. All of them must be copies and reductions.
void work(const Memory& memory, std::span<const Task> tasks);

}  // namespace lapwing
