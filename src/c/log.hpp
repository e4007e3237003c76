// Lines for whoever lapwing_set_log names.
#pragma once

#include <string>

namespace lapwing::c {

// By any thread.
void log_line(const std::string& line);

}  // namespace lapwing::c
