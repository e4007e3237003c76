// OTF2 archives, the format of Score-P, Vampir and Scalasca. An archive NAME.otf2 is an anchor file with this
// name, NAME.def and the directory NAME. The library that writes it is loaded at run time.
#pragma once

#include <memory>

#include "lapwing/timeline/timeline_writer.hpp"

namespace lapwing::tool {

// Whether the name ends with .otf2.
bool is_otf2(const std::string& file);

// Throws Error: unsupported if there is no library, system if files cannot be written or the directory has
// files of something else.
void require_otf2(const std::string& file);

// Replaces an earlier archive of this name.
std::unique_ptr<TimelineWriter> write_otf2(const std::vector<RankPart>& parts, const std::string& file);

}  // namespace lapwing::tool
