// The reports that a rank prints when ranks of the job wait for too long.
#pragma once

#include <chrono>
#include <functional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "watch/messages.hpp"

namespace lapwing::watch {

// Not thread-safe.
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
