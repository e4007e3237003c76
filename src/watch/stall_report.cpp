#include "watch/stall_report.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "links/event/thread.hpp"
#include "watch/diagnosis.hpp"

namespace lapwing::watch {

StallReport::~StallReport() {
    if (thread_.joinable()) thread_.join();
}

bool StallReport::begin(Clock::time_point since) {
    if (collecting_ || printing_) return false;
    // Ranks that waited when the last report was made reach the limit one after the other.
    if (last_ && since <= *last_) return false;
    if (thread_.joinable()) thread_.join();
    if (reports_ == max_reports) return false;
    collecting_ = true;
    last_ = Clock::now();
    return true;
}

void StallReport::finish(std::vector<RankReply> replies) {
    collecting_ = false;
    printing_ = true;
    thread_ = start_thread([this, replies = std::move(replies)] {
        print(replies);
        printing_ = false;
    });
}

void StallReport::print(const std::vector<RankReply>& replies) {
    std::vector<Answer> answers(replies.size());
    for (const RankReply& reply : replies) answers[static_cast<std::size_t>(reply.rank)] = answer_of(reply);
    const std::vector<Finding> findings = diagnose(answers);
    std::set<std::pair<int, std::vector<int>>> found;
    for (const Finding& finding : findings) found.emplace(static_cast<int>(finding.kind), finding.ranks);
    // Empty: the ranks have gone on meanwhile.
    if (found.empty() || std::ranges::includes(found_, found)) return;
    found_ = std::move(found);
    ++reports_;
    std::string text = fmt::format("ranks have waited for {} s without progress (report {} of at most {})\n",
                                   static_cast<double>(limit_.count()) / 1000, reports_, max_reports);
    text += in_words(answers, findings);
    if (!text.ends_with('\n')) text += '\n';
    text +=
        "The job goes on. If a rank only computes for long, this is load imbalance, and no error. "
        "`lapwing status` shows the present state; LAPWING_STALL=0 turns these reports off.";
    print_(text);
}

}  // namespace lapwing::watch
