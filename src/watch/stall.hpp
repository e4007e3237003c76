// When a rank of a job has waited for too long.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "watch/snapshot.hpp"

namespace lapwing::watch {

// How long a rank has waited without progress. Pure: the caller has the clock.
class StallClock {
  public:
    using Clock = std::chrono::steady_clock;

    explicit StallClock(std::chrono::nanoseconds limit) : limit_(limit) {}

    struct Finding {
        // Set once for each wait, when it has reached the limit: since when it has lasted.
        std::optional<Clock::time_point> stalled_since;
        std::chrono::nanoseconds next{};  // until the next check
    };
    // `due`: when this check was planned. If it comes much later the process was suspended, by a debugger, a
    // signal or a laptop that was closed: waits begin anew.
    Finding check(const RankSnapshot& snapshot, Clock::time_point now, Clock::time_point due);

  private:
    struct Wait {
        std::string function;
        Clock::time_point begin;
        std::string progress;     // the positions of the collectives that are waited for
        Clock::time_point since;  // begin, or the last progress
        bool reported = false;
    };

    const std::chrono::nanoseconds limit_;
    std::vector<Wait> waits_;
};

}  // namespace lapwing::watch
