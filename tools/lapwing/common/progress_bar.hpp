// The progress of a long job, on standard error if that is a terminal.
#pragma once

#include <chrono>
#include <mutex>

namespace lapwing::tool {

class ProgressBar {
  public:
    // `total` is the work to be done, in any unit.
    explicit ProgressBar(double total);
    ~ProgressBar();  // leaves an empty line
    ProgressBar(const ProgressBar&) = delete;
    ProgressBar& operator=(const ProgressBar&) = delete;

    bool visible() const { return visible_; }
    void advance(double work);  // thread-safe

  private:
    void draw() const;

    using Clock = std::chrono::steady_clock;
    const double total_;
    const bool visible_;
    const Clock::time_point started_ = Clock::now();
    Clock::time_point drawn_ = started_;
    double done_ = 0;
    std::mutex mutex_;
};

}  // namespace lapwing::tool
