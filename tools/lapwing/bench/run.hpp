// One benchmark from its options to its results.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "lapwing/bench/options.hpp"
#include "lapwing/launch/launch.hpp"

namespace lapwing::tool {

// One of the commands that it starts: of methods one for each variant, else the only one.
struct BenchVariant {
    std::string name;  // empty where there is only one
    nlohmann::json settings;
    std::string algorithm;
    Launch launch;
};
// Throws Error (invalid_argument) for wrong options and launchers.
std::vector<BenchVariant> arrange_bench(const BenchOptions& options,
                                        const std::vector<std::string>& launcher);

// Runs it, prints its tables, and writes its JSON where the options say so. `command` is how it was called.
// Gives an exit status. Throws Error when nothing could be started, or the file cannot be written.
int run_benchmark(const BenchOptions& options, const std::vector<std::string>& launcher,
                  const std::vector<std::string>& command);

}  // namespace lapwing::tool
