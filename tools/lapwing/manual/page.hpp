// Manual pages made of the options themselves, so that they say what --help says.
#pragma once

#include <string>

namespace lapwing {
class CommandLine;
}

namespace lapwing::tool {

// The page of the tool, or of one subcommand, for section 1, in mdoc. `date`: "November 22, 2026".
std::string page_of_tool(const CommandLine& tool, const std::string& date);
std::string page_of_subcommand(const CommandLine& tool, const CommandLine& subcommand,
                               const std::string& date);

}  // namespace lapwing::tool
