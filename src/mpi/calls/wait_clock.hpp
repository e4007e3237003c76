// The time that the program spends in calls that wait for requests.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/trace.hpp"
#include "task/problem.hpp"

namespace lapwing {

struct Request;

// Measures one call. Its time is divided equally among its requests. Does nothing where no clocks are read.
class WaitClock {
  public:
    // Outside of Entry.
    WaitClock(trace::Call call, std::span<Request* const> requests);
    // Before the requests are released. Later calls do nothing.
    void stop();
    void stop_inside_entry();

  private:
    trace::Call call_;
    std::span<Request* const> requests_;  // empty: stopped
    std::uint64_t began_ = 0;
    std::uint32_t first_ = 0;  // the first request's number in a trace
    // Another thread may use a request again before stop().
    Collective collective_{};  // of the first request
    std::vector<Collective> others_;
};

}  // namespace lapwing
