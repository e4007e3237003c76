// Link files from measurements, for `lapwing synthesize`.
#pragma once

#include <string>
#include <vector>

namespace lapwing::tool {

// The text of a link file from measurements: bits per second and seconds from rank i to rank j at i * ranks +
// j. A port is as fast as its fastest link, and only what differs from all others by more than a fifth has a
// line.
std::string print_links(int ranks, const std::vector<double>& rates, const std::vector<double>& latencies);

}  // namespace lapwing::tool
