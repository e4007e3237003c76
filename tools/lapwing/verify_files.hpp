// List files against the checker.
#pragma once

#include <string>
#include <vector>

#include "task/checker.hpp"

namespace lapwing::tool {

// Prints what was found, one file after the other; returns the exit status.
int verify_files(const std::vector<std::string>& files, const CheckLimits& limits, bool json);

}  // namespace lapwing::tool
