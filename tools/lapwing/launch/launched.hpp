// Starts a launcher and reads the lines that its job prints.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "lapwing/launch/launch.hpp"

namespace lapwing::tool {

struct LaunchEnd {
    int status = 0;                          // 128 + number of the signal that ended it
    bool timed_out = false;                  // stopped after the limit
    std::vector<std::string> still_running;  // command lines of the launcher's processes, at the limit
    std::chrono::milliseconds time{0};
};

struct LaunchLimits {
    std::optional<std::chrono::milliseconds> total;  // for the whole job
    // From the moment when `complete` returns true. The launcher is then stopped, with the status 0.
    std::optional<std::chrono::milliseconds> grace;
};

// Which streams of the job are read. `output`: standard error and standard input remain the tool's. `both`:
// standard input is empty.
enum class Streams { output, both };

// Calls `take` with each line, and asks `complete` after each read whether the job has printed all that is
// expected. Throws Error (system) if the launcher cannot be started.
LaunchEnd run_with_limits(const Launch& launch, Streams streams, const LaunchLimits& limits,
                          const std::function<void(const std::string&)>& take,
                          const std::function<bool()>& complete = {});

}  // namespace lapwing::tool
