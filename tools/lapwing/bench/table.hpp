// The results of `lapwing bench` as tables.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace lapwing::tool {

// Of results that summarize() has completed. Times in microseconds, shares in percent. A table for each
// collective and method; of base one for all.
std::string bench_tables(const nlohmann::json& result);

}  // namespace lapwing::tool
