// lapwing man-pages: a manual page of section 1 for the tool and for each subcommand. A page is the text of
// --help.
#include <fmt/format.h>

#include <cctype>
#include <memory>
#include <string>

#include "base/output_file.hpp"
#include "command_line/command_line.hpp"
#include "lapwing/common/command.hpp"

namespace lapwing::tool {
namespace {

// Text that roff takes for text, line by line.
std::string escaped(const std::string& text) {
    std::string result;
    for (const char c : text) {
        if ((c == '.' || c == '\'') && (result.empty() || result.back() == '\n')) result += "\\&";
        if (c == '\\') {
            result += "\\e";
        } else if (c == '-') {
            result += "\\-";
        } else {
            result += c;
        }
    }
    return result;
}

void write_page(const std::string& directory, const std::string& name, const CommandLine& app,
                const char* see_also, const std::string& date) {
    std::string upper;
    for (const char c : name) upper += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    const std::string about = app.about().substr(0, app.about().find('\n'));
    write_file(
        directory + "/" + name + ".1",
        fmt::format(".Dd {}\n.Dt {} 1\n.Os\n.Sh NAME\n.Nm {}\n.Nd {}\n.Sh DESCRIPTION\n.Bd -literal\n{}.Ed\n"
                    ".Sh SEE ALSO\n.Xr {}\n",
                    date, upper, name, escaped(about), escaped(app.help()), see_also),
        "the manual page");
}

int write_pages(const CommandLine& tool, const char* page, const std::string& directory,
                const std::string& date) {
    write_page(directory, page, tool, "lapwing 3", date);
    for (const auto& subcommand : tool.subcommands()) {
        if (!subcommand->group().empty())
            write_page(directory, tool.name() + "-" + subcommand->name(), *subcommand, "lapwing 1", date);
    }
    return success;
}

}  // namespace

Command add_man_pages(CommandLine& tool, const char* page) {
    struct Options {
        std::string directory;
        std::string date;
    };
    auto options = std::make_shared<Options>();
    CommandLine* app =
        tool.add_subcommand("man-pages", "Write the manual pages of all subcommands")->group("");
    app->add_option("DIRECTORY", options->directory)->required();
    app->add_option("--date", options->date)->required();
    return {app,
            [&tool, page, options] { return write_pages(tool, page, options->directory, options->date); },
            true};
}

}  // namespace lapwing::tool
