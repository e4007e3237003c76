#include "engines/progress_choice.hpp"

#include <fmt/format.h>

#include "base/error.hpp"
#include "base/values.hpp"

namespace lapwing {

ProgressChoice read_progress_choice(const Settings& settings) {
    const std::string& value = settings.progress_thread;
    if (value == "none") return {};
    if (value == "auto") return {ProgressLists::long_ones};
    if (value == "any") return {ProgressLists::all};
    const auto processors = parse_processors(value);
    if (!processors)
        refuse_value("LAPWING_PROGRESS_THREAD", "none, auto, any or a list of CPUs such as 0,2-3", value);
    return {ProgressLists::all, *processors};
}

std::string advise_progress_thread(const Progressed& lists) {
    constexpr double min_seconds = 0.01;
    constexpr double min_share = 0.1;
    if (lists.processors <= lists.ranks || lists.waited < min_seconds) return "";
    if (lists.waited < min_share * lists.elsewhere || lists.elsewhere < min_share * lists.waited) return "";
    return fmt::format(
        "rank 0 waited {:.3f} s, and its host has {} CPUs for {} ranks: LAPWING_PROGRESS_THREAD=any may "
        "hide a part of this wait",
        lists.waited, lists.processors, lists.ranks);
}

}  // namespace lapwing
