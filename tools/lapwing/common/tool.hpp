// A program of subcommands: reads the command line and runs the subcommand that it names.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "lapwing/common/command.hpp"

namespace lapwing::tool {

struct Tool {
    const char* page;  // name of its manual page
    const char* about;
    const char* footer;
    // Subcommands by what people want, in the order of the help.
    std::vector<std::pair<const char*, std::vector<const char*>>> groups;
    // Adds the subcommands, except man-pages, which each program has.
    std::function<std::vector<Command>(CommandLine&, const Words&)> add;
};

// Returns the exit status. Prints errors on standard error.
int run_tool(int argument_count, char** arguments, const Tool& about);

}  // namespace lapwing::tool
