// While a thread of the program polls, it advances all lists by itself, and the progress thread would only be
// in its way.
#pragma once

#include "engines/progress_thread.hpp"

namespace lapwing {

class ProgressTakeover {
  public:
    // `thread` may be null, then nothing happens.
    explicit ProgressTakeover(ProgressThread* thread) : thread_(thread) {}
    ~ProgressTakeover() { hand_back(); }
    ProgressTakeover(const ProgressTakeover&) = delete;
    ProgressTakeover& operator=(const ProgressTakeover&) = delete;

    void take_over() {
        if (thread_ == nullptr || has_taken_over_) return;
        thread_->take_over();
        has_taken_over_ = true;
    }
    // Before the thread of the program sleeps.
    void hand_back() {
        if (has_taken_over_) thread_->hand_back();
        has_taken_over_ = false;
    }

  private:
    ProgressThread* const thread_;
    bool has_taken_over_ = false;
};

}  // namespace lapwing
