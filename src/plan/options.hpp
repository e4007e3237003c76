// The variables that say how problems are planned.
#pragma once

#include <string>
#include <vector>

#include "base/settings.hpp"
#include "plan/planner.hpp"

namespace lapwing {

// LAPWING_CHECK: whether to prove each list. Throws Error (invalid_argument).
bool parse_check(const std::string& value);

// Throws Error (invalid_argument) that names the variable and its form; Error (parse, system) for the tuning
// file. Beside the engines' own names and "auto", `engine_words` are allowed.
PlanOptions read_plan_options(const Settings& settings, const std::vector<std::string>& engine_words = {});
// Whether buffers may be in the memory of devices. Throws Error (invalid_argument).
bool takes_device_memory(const Settings& settings);

}  // namespace lapwing
