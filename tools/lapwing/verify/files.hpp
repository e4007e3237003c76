// List files against the checker.
#pragma once

#include <string>
#include <vector>

#include "task/checker.hpp"

namespace lapwing::tool {

// Prints what was found, one file after the other; returns the exit status. With `chains` also proves the
// chain forms of lists that have one.
int verify_files(const std::vector<std::string>& files, const CheckLimits& limits, bool chains, bool json);

}  // namespace lapwing::tool
