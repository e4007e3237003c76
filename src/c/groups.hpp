// All groups of the process.
#pragma once

#include <memory>
#include <vector>

#include "c/group.hpp"

namespace lapwing::c {

// The group behind a handle. Throws Error (invalid_argument) for null.
Group& group_of(const lapwing_group* handle);

// All but one.
std::vector<std::shared_ptr<Group>> other_groups(const Group* group);

}  // namespace lapwing::c
