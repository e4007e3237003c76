#include "engines/progress_choice.hpp"

#include "base/error.hpp"
#include "base/values.hpp"

namespace lapwing {

ProgressChoice read_progress_choice(const Settings& settings) {
    const std::string& value = settings.progress_thread;
    if (value == "none") return {};
    if (value == "auto") return {ProgressLists::long_ones};
    if (value == "any") return {ProgressLists::all};
    const auto processors = parse_processors(value);
    if (!processors) {
        refuse_value("LAPWING_PROGRESS_THREAD", "none, auto, any or a list of processors such as 0,2-3",
                     value);
    }
    return {ProgressLists::all, *processors};
}

}  // namespace lapwing
