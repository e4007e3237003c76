// While a thread of the program polls, it advances all lists by itself, and the progress thread would only be
// in its way.
#pragma once

#include "engines/progress_thread.hpp"

namespace lapwing {

class ProgressSuspension {
  public:
    // `thread` may be null, then nothing happens.
    explicit ProgressSuspension(ProgressThread* thread) : thread_(thread) {}
    ~ProgressSuspension() { resume(); }
    ProgressSuspension(const ProgressSuspension&) = delete;
    ProgressSuspension& operator=(const ProgressSuspension&) = delete;

    void suspend() {
        if (thread_ == nullptr || suspended_) return;
        thread_->suspend();
        suspended_ = true;
    }
    // Before the thread of the program sleeps.
    void resume() {
        if (suspended_) thread_->resume();
        suspended_ = false;
    }

  private:
    ProgressThread* const thread_;
    bool suspended_ = false;
};

}  // namespace lapwing
