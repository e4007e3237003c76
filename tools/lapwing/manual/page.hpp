// Manual pages made of the options themselves, so that they say what --help says.
#pragma once

#include <string>

namespace CLI {
class App;
}

namespace lapwing::tool {

// The page of the tool, or of one subcommand, for section 1, in mdoc. `date`: "November 22, 2026".
std::string page_of_tool(const CLI::App& tool, const std::string& date);
std::string page_of_subcommand(const CLI::App& tool, const CLI::App& subcommand, const std::string& date);

}  // namespace lapwing::tool
