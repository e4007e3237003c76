// This machine, as hwloc sees it.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>

namespace lapwing::tool {

// Packages, NUMA nodes, caches and cores, indented; a core is [0 4], its processors by Linux's numbers, and
// as many cores stand side by side as fit into `width` columns. Throws Error (system) when hwloc
// fails.
std::string draw_machine(std::size_t width);
// The same as nested objects.
nlohmann::ordered_json machine_as_json();

}  // namespace lapwing::tool
