// Records the tasks that the processor does for one run, in a traced job.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/trace.hpp"
#include "task/task.hpp"

namespace lapwing {

class TaskTracer {
  public:
    // The next events belong to the collective with this number: Buffers::operation.
    void start(std::uint64_t operation) {
        operation_ = static_cast<std::uint32_t>(operation);
        began_ = 0;
    }
    // A task begins. Further calls before end() have no effect.
    void begin() {
        if (began_ == 0) began_ = trace::now();
    }
    // The task with this index in the list is done, and the next task begins.
    void end(const Task& task, std::size_t index) {
        const std::uint64_t now = trace::now();
        record(trace::What::task, task, index, began_, now);
        began_ = now;
    }
    // The task, which the kernel has done, is found complete.
    void seen(const Task& task, std::size_t index, std::uint64_t now) const {
        record(trace::What::seen, task, index, now, now);
    }
    std::uint32_t operation() const { return operation_; }
    void forget() { began_ = 0; }

  private:
    void record(trace::What what, const Task& task, std::size_t index, std::uint64_t began,
                std::uint64_t ended) const {
        trace::record({.began = began,
                       .ended = ended,
                       .bytes = task.kind == Kind::wait   ? task.count
                                : task.kind == Kind::send ? task.source.length
                                                          : task.target.length,
                       .operation = operation_,
                       .index = static_cast<std::uint32_t>(index),
                       .peer = task.peer,
                       .what = what,
                       .kind = static_cast<std::uint8_t>(task.kind)});
    }

    std::uint32_t operation_ = 0;
    std::uint64_t began_ = 0;
};

}  // namespace lapwing
