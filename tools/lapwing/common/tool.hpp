// A program of subcommands: reads the command line and runs the subcommand that it names.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "lapwing/common/command.hpp"

namespace lapwing::tool {

struct Subcommand {
    using Add = Command(CommandLine&, const Words&);
    using AddWithoutWords = Command(CommandLine&);
    // `what_for`: what people want, for the help; empty: hidden.
    Subcommand(const char* what_for, const char* called, Add* adds)
        : group(what_for), name(called), add(adds) {}
    Subcommand(const char* what_for, const char* called, AddWithoutWords* adds)
        : group(what_for), name(called), add([adds](auto& tool, const Words&) { return adds(tool); }) {}

    const char* group;
    const char* name;
    std::function<Add> add;
};

struct Tool {
    const char* page;  // name of its manual page
    const char* about;
    const char* footer;
    std::vector<Subcommand>
        subcommands;  // in the order of the help; except man-pages, which each program has
};

// Returns the exit status. Prints errors on standard error.
int run_tool(int argument_count, char** arguments, const Tool& about);

}  // namespace lapwing::tool
