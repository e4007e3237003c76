// The Trace Event format, which Perfetto and Chrome open.
#pragma once

#include <memory>

#include "lapwing/timeline/timeline_writer.hpp"

namespace lapwing::tool {

// Opens `file`.
std::unique_ptr<TimelineWriter> write_perfetto(const std::vector<RankPart>& parts, const std::string& file);

}  // namespace lapwing::tool
