// lapwing man-page: the manual pages of section 1, for whoever installs or packages the tool.
#include <fmt/format.h>

#include <memory>

#include "command_line/command_line.hpp"
#include "lapwing/common/command.hpp"
#include "lapwing/common/output_file.hpp"
#include "lapwing/manual/page.hpp"

namespace lapwing::tool {
namespace {

void write_page(const std::string& directory, const std::string& name, const std::string& page) {
    write_file(directory + "/" + name + ".1", page, "the manual page");
}

int write_pages(const CommandLine& tool, const std::string& directory, const std::string& date) {
    write_page(directory, tool.name(), page_of_tool(tool, date));
    for (const auto& subcommand : tool.subcommands()) {
        if (subcommand->group().empty()) continue;
        write_page(directory, tool.name() + "-" + subcommand->name(),
                   page_of_subcommand(tool, *subcommand, date));
    }
    return success;
}

}  // namespace

Command add_man_pages(CommandLine& tool) {
    struct Options {
        std::string directory;
        std::string date;
    };
    auto options = std::make_shared<Options>();
    CommandLine* app =
        tool.add_subcommand("man-pages", "Write the manual pages of all subcommands")->group("");
    app->add_option("DIRECTORY", options->directory)->required();
    app->add_option("--date", options->date)->required();
    return {app, [&tool, options] { return write_pages(tool, options->directory, options->date); }, true};
}

}  // namespace lapwing::tool
