#include "watch/stall_report.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "watch/diagnosis.hpp"

namespace lapwing::watch {

bool StallReport::print(const std::vector<RankReply>& replies) {
    std::vector<Answer> answers(replies.size());
    for (const RankReply& reply : replies) answers[static_cast<std::size_t>(reply.rank)] = answer_of(reply);
    const std::vector<Finding> findings = diagnose(answers);
    std::set<std::pair<int, std::vector<int>>> found;
    for (const Finding& finding : findings) found.emplace(static_cast<int>(finding.kind), finding.ranks);
    if (found.empty()) return false;
    if (std::ranges::includes(found_, found)) return true;
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
    return true;
}

}  // namespace lapwing::watch
