// The settings of a group: variables LAPWING_*, and the options of lapwing_group_create, which count more.
#pragma once

#include <cstdint>

#include "base/settings.hpp"
#include "plan/network_settings.hpp"
#include "plan/planner.hpp"

namespace lapwing::c {

struct GroupSettings {
    PlanOptions plan;
    NetworkSettings network;
    // Equal where ranks have chosen what must be equal at all of them.
    std::uint64_t digest = 0;
};

// `options` is null, or "name=value" strings ended by null. Throws Error (invalid_argument).
GroupSettings read_group_settings(const char* const* options, const char* const* environment);

}  // namespace lapwing::c
