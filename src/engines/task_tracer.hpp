// Records the tasks that the processor does for one run, in a traced job.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/trace.hpp"
#include "task/task.hpp"

namespace lapwing {

class TaskTracer {
  public:
    // The run belongs to the collective that this thread is starting.
    void start() {
        operation_ = trace::starting;
        began_ = 0;
    }
    // A task begins. Further calls before end() have no effect.
    void begin() {
        if (began_ == 0) began_ = trace::now();
    }
    // The task with this index in the list is done, and the next task begins.
    void end(const Task& task, std::size_t index) {
        const std::uint64_t now = trace::now();
        trace::record({.began = began_,
                       .ended = now,
                       .bytes = amount(task),
                       .operation = operation_,
                       .index = static_cast<std::uint32_t>(index),
                       .peer = task.peer,
                       .what = trace::What::task,
                       .kind = static_cast<std::uint8_t>(task.kind)});
        began_ = now;
    }
    static std::uint64_t amount(const Task& task) {
        if (task.kind == Kind::wait) return task.count;
        return sends(task.kind) ? task.source.length : task.target.length;
    }
    std::uint32_t operation() const { return operation_; }
    void forget() { began_ = 0; }

  private:
    std::uint32_t operation_ = 0;
    std::uint64_t began_ = 0;
};

}  // namespace lapwing
