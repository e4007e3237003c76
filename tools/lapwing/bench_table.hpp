// The results of `lapwing bench` as people read them.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace lapwing::tool {

// Of results that summarize() has completed. Times in microseconds, shares in percent between 0 and 100.
// A table for each collective and method:
std::string overlap_tables(const nlohmann::json& result);
// One for all:
std::string base_table(const nlohmann::json& result);

}  // namespace lapwing::tool
