// The variables that say how problems are planned.
#pragma once

#include <string>
#include <vector>

#include "base/settings.hpp"
#include "plan/planner.hpp"

namespace lapwing {

// LAPWING_CHECK: a word for lists, "calls", or both with a comma between them.
struct Checks {
    bool lists = false;  // prove each list
    bool calls = false;  // compare the calls of all ranks
};
// `prove`: what "auto" means for lists. Throws Error (invalid_argument).
Checks parse_checks(const std::string& value, bool prove = false);

// Throws Error (invalid_argument) that names the variable and its form; Error (parse, system) for the tuning
// file. Beside the engines' own names and "auto", `engine_words` are allowed.
PlanOptions read_plan_options(const Settings& settings, const std::vector<std::string>& engine_words = {});
// Whether buffers may be in the memory of devices. Throws Error (invalid_argument).
bool takes_device_memory(const Settings& settings);

}  // namespace lapwing
