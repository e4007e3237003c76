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

    // `repeat`: a wait that goes on is reported again after this time.
    explicit StallClock(std::chrono::nanoseconds limit,
                        std::chrono::nanoseconds repeat = std::chrono::nanoseconds::max())
        : limit_(limit), repeat_(repeat) {}

    struct Finding {
        // Set when a wait has reached the limit, and when it is due again: since when it has lasted.
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
        std::optional<Clock::time_point> reported = {};
    };

    const std::chrono::nanoseconds limit_;
    const std::chrono::nanoseconds repeat_;
    std::vector<Wait> waits_;
};

}  // namespace lapwing::watch
