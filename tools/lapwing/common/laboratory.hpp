// The laboratory's program, lapwing-lab, which may be installed beside the tool. The tool starts it for the
// laboratory's subcommands.
#pragma once

#include <string_view>

namespace lapwing::tool {

inline constexpr const char* laboratory_commands[] = {"predict", "verify"};

bool is_laboratory(std::string_view subcommand);

// Replaces this process by lapwing-lab, beside the tool or on PATH, with these arguments, whose first is the
// name of the program and whose last is null. Returns only if lapwing-lab cannot be started: prints the
// reason, and returns the exit status.
int run_laboratory(char** arguments);

}  // namespace lapwing::tool
