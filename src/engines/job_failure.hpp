// The end of a job by a failure: set by any thread, read by the threads that run lists.
#pragma once

#include <atomic>
#include <mutex>
#include <string>

#include "base/error.hpp"

namespace lapwing {

class JobFailure {
  public:
    // The first reason stays.
    void set(const std::string& why) {
        const std::lock_guard lock(mutex_);
        if (failed_) return;
        why_ = why;
        failed_.store(true, std::memory_order_release);
    }
    bool has_happened() const { return failed_.load(std::memory_order_acquire); }
    // Throws Error (link) once the job has failed.
    void check() const {
        if (has_happened()) throw Error(ErrorCode::link, why_);
    }

  private:
    std::mutex mutex_;
    std::atomic<bool> failed_{false};
    std::string why_;  // does not change any more once failed_ is true
};

}  // namespace lapwing
