#include "lapwing/manual/page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <sstream>
#include <vector>

#include "command_line/command_line.hpp"

namespace lapwing::tool {
namespace {

// Text that roff takes for text.
std::string escaped(const std::string& text) {
    std::string result;
    for (const char c : text) {
        if (c == '\\') {
            result += "\\e";
        } else if (c == '-') {
            result += "\\-";
        } else {
            result += c;
        }
    }
    return result.starts_with(".") || result.starts_with("'") ? "\\&" + result : result;
}

// An argument of a macro.
std::string quoted(const std::string& text) {
    std::string result;
    for (const char c : escaped(text)) result += c == '"' ? "\"\"" : std::string(1, c);
    return "\"" + result + "\"";
}

std::string name_of(const CommandLine& tool, const CommandLine& subcommand) {
    return tool.name() + "-" + subcommand.name();
}

std::string lower_case_first(std::string text) {
    // Not MPI and the like.
    if (text.size() > 1 && std::islower(static_cast<unsigned char>(text[1])))
        text[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(text[0])));
    return text;
}

std::string first_line(const std::string& text) {
    return text.substr(0, text.find('\n'));
}

std::string begin(const std::string& name, const std::string& what, const std::string& date) {
    std::string upper;
    for (const char c : name) upper += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    return fmt::format(".Dd {}\n.Dt {} 1\n.Os\n.Sh NAME\n.Nm {}\n.Nd {}\n", date, upper, name,
                       escaped(lower_case_first(what)));
}

// Each sentence on a line of its own: roff knows by that where one ends.
std::string by_sentences(const std::string& line) {
    std::string result;
    for (std::size_t i = 0; i < line.size(); ++i) {
        result += line[i] == ' ' && i > 0 && line[i - 1] == '.' && i + 1 < line.size() ? '\n' : line[i];
    }
    return result;
}

// Indented lines stay as they are, as in a terminal; an empty line begins a paragraph.
void add_text(std::string& page, const std::string& text) {
    std::istringstream lines(text);
    bool literal = false;
    for (std::string line; std::getline(lines, line);) {
        const bool indented = line.starts_with("  ");
        if (indented != literal) page += indented ? ".Bd -literal -offset indent\n" : ".Ed\n.Pp\n";
        literal = indented;
        if (line.empty()) {
            page += ".Pp\n";
        } else {
            page += (indented ? escaped(line.substr(2)) : by_sentences(escaped(line))) + "\n";
        }
    }
    if (literal) page += ".Ed\n";
}

// Examples are a section, what stands before and after them is text.
void add_footer(std::string& page, const std::string& footer) {
    const std::string title = "Examples:\n";
    const std::size_t at = footer.find(title);
    if (at == std::string::npos) {
        if (!footer.empty()) page += ".Sh NOTES\n";
        add_text(page, footer);
        return;
    }
    const std::size_t examples = at + title.size();
    const std::size_t end = footer.find("\n\n", examples);
    const std::string rest = footer.substr(0, at) + (end == std::string::npos ? "" : footer.substr(end + 2));
    if (!rest.empty()) {
        page += ".Sh NOTES\n";
        add_text(page, rest);
    }
    page += ".Sh EXAMPLES\n";
    add_text(page, footer.substr(examples, end == std::string::npos ? end : end - examples));
}

void add_options(std::string& page, const CommandLine& app) {
    page += ".Bl -tag -width Ds\n";
    std::string group = app.options().front().group();
    for (const CommandLineOption& option : app.options()) {
        if (option.hidden()) continue;
        if (option.group() != group) {
            group = option.group();
            page += fmt::format(".El\n.Ss {}\n.Bl -tag -width Ds\n", escaped(group));
        }
        page += ".It";
        if (option.positional()) {
            page += " Ar " + quoted(option.name());
        } else {
            const char* between = "";
            for (const std::string& name : option.short_names()) {
                page += fmt::format("{} Fl {}", between, escaped(name));
                between = " ,";
            }
            for (const std::string& name : option.long_names()) {
                page += fmt::format("{} Fl {}", between, escaped("-" + name));
                between = " ,";
            }
            if (option.takes_value()) page += " Ar " + quoted(option.type());
        }
        page += "\n";
        add_text(page, option.about());
    }
    page += ".El\n";
}

void add_subcommands(std::string& page, const CommandLine& app) {
    std::string group;
    for (const auto& nested : app.subcommands()) {
        if (nested->group().empty()) continue;
        if (nested->group() != group) {
            if (!group.empty()) page += ".El\n";
            group = nested->group();
            page += fmt::format(".Ss {}\n.Bl -tag -width topology\n", escaped(group));
        }
        page += fmt::format(".It Cm {}\n", escaped(nested->name()));
        add_text(page, first_line(nested->about()));
    }
    if (!group.empty()) page += ".El\n";
}

// "lapwing run [OPTIONS] -- ...", all forms as in the help.
std::string usage_of(const CommandLine& app, const std::string& called) {
    const std::string help = app.help();
    const std::string title = "Usage: ";
    const std::size_t at = help.find(title);
    if (at == std::string::npos) return called;
    std::istringstream lines(help.substr(at + title.size()));
    std::string usage;
    std::getline(lines, usage);
    const std::string indent(title.size(), ' ');
    for (std::string line; std::getline(lines, line) && line.starts_with(indent);)
        usage += "\n" + line.substr(indent.size());
    // Without a usage of its own CLI11 leaves out the tool's name.
    return usage.starts_with(called) ? usage : called.substr(0, called.find(' ') + 1) + usage;
}

constexpr const char* environment = R"(.Sh ENVIRONMENT
Variables
.Ev LAPWING_*
determine how lists run;
.Ql lapwing info
lists them with their meaning and present values.
)";

// Takes the sentence about the exit status out of a footer, whose end it is.
std::string take_exit_status(std::string& footer) {
    const std::size_t words[] = {footer.find("The exit status"), footer.find("The\nexit status")};
    const std::size_t at = std::min(words[0], words[1]);
    if (at == std::string::npos) return "0, or 2 when an option, a variable or an argument is wrong.";
    const std::string sentence = footer.substr(at);
    footer.erase(footer.find_last_not_of(" \n", at - 1) + 1);
    return sentence;
}

}  // namespace

std::string page_of_tool(const CommandLine& tool, const std::string& date) {
    std::string page =
        begin(tool.name(), "run MPI programs with collectives that overlap, and inspect task lists", date);
    page += R"(.Sh SYNOPSIS
.Nm
.Ar subcommand
.Op Ar options
.Nm
.Ar subcommand
.Fl -help
.Nm
.Fl -version
.Sh DESCRIPTION
Lapwing runs the nonblocking collectives of an MPI program as task lists, while the program computes.
The program is not changed.
Each subcommand has a page of its own, such as
.Xr lapwing-run 1 .
)";
    add_subcommands(page, tool);
    page += environment;
    add_footer(page, tool.footer());
    page += R"(.Sh SEE ALSO
.Xr lapwing 3
.Pp
The pages
.Pa docs/guide.md ,
.Pa docs/reference.md
and
.Pa docs/troubleshooting.md
in the directory of the documentation.
)";
    return page;
}

std::string page_of_subcommand(const CommandLine& tool, const CommandLine& subcommand,
                               const std::string& date) {
    const std::string called = tool.name() + " " + subcommand.name();
    std::string page = begin(name_of(tool, subcommand), first_line(subcommand.about()), date);
    page += fmt::format(".Sh SYNOPSIS\n.Bd -literal\n{}\n.Ed\n.Sh DESCRIPTION\n",
                        escaped(usage_of(subcommand, called)));
    add_text(page, subcommand.about() + ".");
    add_subcommands(page, subcommand);
    page += ".Sh OPTIONS\n";
    add_options(page, subcommand);
    std::string footer = subcommand.footer();
    const std::string status = take_exit_status(footer);
    page += std::string(environment) + ".Sh EXIT STATUS\n";
    add_text(page, status);
    add_footer(page, footer);
    page += ".Sh SEE ALSO\n.Xr lapwing 1\n";
    return page;
}

}  // namespace lapwing::tool
