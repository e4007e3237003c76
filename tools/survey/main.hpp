#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace lapwing::survey {

// Prints a line of this program.
void say(const std::string& words);
// Runs the collectives; the result for rank 0: {"version", "ranks", "right", "collectives"}. Collective.
nlohmann::json try_collectives(int rank, int ranks, const std::string& host);

}  // namespace lapwing::survey
