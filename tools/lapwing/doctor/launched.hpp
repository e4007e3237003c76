// A launcher's run with a time limit: its lines, and which of its processes it still waits for at the end.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "lapwing/launch/launch.hpp"

namespace lapwing::tool {

enum class Stream { output, errors };

struct LaunchEnd {
    int status = 0;                          // 128 + number of the signal that ended it
    bool timed_out = false;                  // it was ended after the limit
    std::vector<std::string> still_running;  // command lines below the launcher, at the limit
    std::chrono::milliseconds time{0};
};

// Gives `take` each line. Once `complete` says that nothing more is awaited, the launcher gets `grace` to
// end; ended then, it counts as one that ended well. Throws Error (system) when it cannot be started.
LaunchEnd run_with_limit(const Launch& launch, std::chrono::milliseconds limit,
                         const std::function<void(Stream, const std::string&)>& take,
                         const std::function<bool()>& complete, std::chrono::milliseconds grace);

}  // namespace lapwing::tool
