// One benchmark from its options to its results.
#pragma once

#include <string>
#include <vector>

#include "lapwing/bench/options.hpp"

namespace lapwing::tool {

// Runs a benchmark, prints its tables, and writes its JSON where the options say so. `command` is how it was
// called. Gives an exit status. Throws Error when nothing could be started, or the file cannot be written.
int run_benchmark(const BenchOptions& options, const std::vector<std::string>& launcher,
                  const std::vector<std::string>& command);

}  // namespace lapwing::tool
