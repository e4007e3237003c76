// The settings of a group: variables LAPWING_*, and the options of lapwing_group_create, which override them.
#pragma once

#include "base/settings.hpp"

namespace lapwing::c {

// `options` is null, or "name=value" strings ended by null. Throws Error (invalid_argument).
Settings read_group_settings(const char* const* options, const char* const* environment);

}  // namespace lapwing::c
