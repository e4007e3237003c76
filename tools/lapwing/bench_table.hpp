// The results of `lapwing bench overlap` as people read them: a table for each collective and method.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace lapwing::tool {

// Of a result that summarize() has completed. Times in microseconds, shares in percent between 0 and 100.
std::string overlap_tables(const nlohmann::json& result);

}  // namespace lapwing::tool
