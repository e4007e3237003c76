// The three memories that the tasks of a run name.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "engines/engine.hpp"
#include "task/task.hpp"

namespace lapwing {

struct Memory {
    Buffers buffers;
    std::unique_ptr<std::byte[]> scratch;

    // Not zeroed, because the checker proves that no byte is read before it is written.
    void make_scratch(std::uint64_t bytes) {
        if (bytes > 0) scratch.reset(new std::byte[bytes]);
    }
    const std::byte* source(const Span& span) const {
        switch (span.space) {
            case Space::in:
                return buffers.in + span.offset;
            case Space::out:
                return buffers.out + span.offset;
            case Space::scratch:
                break;
        }
        return scratch.get() + span.offset;
    }
    std::byte* target(const Span& span) const {
        return span.space == Space::out ? buffers.out + span.offset : scratch.get() + span.offset;
    }
};

}  // namespace lapwing
