// The reports that a rank prints when ranks of the job wait for too long.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "watch/messages.hpp"
#include "watch/stall_clock.hpp"

namespace lapwing::watch {

// begin() and finish() are called by the event thread. A thread compares and prints the answers: that takes
// longer than an event thread may.
class StallReport {
  public:
    using Clock = StallClock::Clock;
    using Print = std::function<void(const std::string&)>;
    StallReport(std::chrono::milliseconds limit, Print print) : limit_(limit), print_(std::move(print)) {}
    // Waits for a report that is being printed.
    ~StallReport();
    StallReport(const StallReport&) = delete;
    StallReport& operator=(const StallReport&) = delete;

    // A rank has waited since `since`. Whether to collect the answers of all ranks now, for finish(): not for
    // a stall that has been reported, nor after the last report. `again`: for a stall of which the answers
    // have told nothing.
    bool begin(Clock::time_point since, bool again = false);
    // Calls `found_nothing`, on the thread, if the answers tell nothing: the ranks have gone on, or some have
    // waited for too short a time to be sure.
    void finish(std::vector<RankReply> replies, std::function<void()> found_nothing);

    static constexpr int max_reports = 5;  // of a job

  private:
    bool print(const std::vector<RankReply>& replies);

    const std::chrono::milliseconds limit_;
    const Print print_;
    bool collecting_ = false;
    std::atomic<bool> printing_{false};
    std::optional<Clock::time_point> last_;  // when answers were last collected
    // Used by the thread:
    int reports_ = 0;
    std::set<std::pair<int, std::vector<int>>> found_;  // kinds and ranks of the last findings
    std::thread thread_;
};

}  // namespace lapwing::watch
