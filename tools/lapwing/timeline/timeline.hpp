// The timeline of a traced job.
#pragma once

#include <string>
#include <vector>

#include "lapwing/timeline/trace_parts.hpp"

namespace lapwing::tool {

// Writes `file`. Throws Error (system) when that fails.
void write_timeline(const std::vector<RankPart>& parts, const std::string& file);

// Remarks, a line each: how accurate the clocks are, what is missing.
std::vector<std::string> remarks_on_timeline(const std::vector<RankPart>& parts);

}  // namespace lapwing::tool
