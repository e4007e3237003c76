// The three memories that the tasks of a run name.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "engines/engine.hpp"
#include "task/task.hpp"

namespace lapwing {

struct Memory {
    Buffers buffers;
    std::unique_ptr<std::byte[]> scratch;
    std::uint64_t scratch_bytes = 0;

    // Keeps memory that is large enough. New memory is at least twice as large, so that lists of rising sizes
    // rarely need any, and not zeroed, because the checker proves that no byte is read before it is written.
    void make_scratch(std::uint64_t bytes) {
        if (bytes <= scratch_bytes) return;
        scratch_bytes = std::max(bytes, 2 * scratch_bytes);
        scratch.reset(new std::byte[scratch_bytes]);
    }
    const std::byte* source(const Span& span) const {
        return span.space == Space::in ? buffers.in + span.offset : target(span);
    }
    std::byte* target(const Span& span) const {
        return span.space == Space::out ? buffers.out + span.offset : scratch.get() + span.offset;
    }
};

}  // namespace lapwing
