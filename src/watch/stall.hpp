// When ranks of a job have waited for too long, and the report that one of them prints then.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "watch/messages.hpp"
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

// The reports of a job. Not thread-safe.
class StallReport {
  public:
    using Print = std::function<void(const std::string&)>;
    StallReport(std::chrono::milliseconds limit, Print print) : limit_(limit), print_(std::move(print)) {}

    // Prints what the ranks wait for, unless it was printed before. Returns false if the answers tell
    // nothing: the ranks have gone on, or some have waited for too short a time to be sure.
    bool print(const std::vector<RankReply>& replies);
    // Whether print() prints no more.
    bool over() const { return reports_ == max_reports; }

    static constexpr int max_reports = 5;  // of a job

  private:
    const std::chrono::milliseconds limit_;
    const Print print_;
    int reports_ = 0;
    std::set<std::pair<int, std::vector<int>>> found_;  // kinds and ranks of the last findings
};

}  // namespace lapwing::watch
