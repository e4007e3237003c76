#include "lapwing/common/tool.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <filesystem>
#include <new>

#include "base/error.hpp"
#include "base/messages.hpp"
#include "base/nearest_name.hpp"
#include "command_line/command_line.hpp"

namespace lapwing::tool {
namespace {

// `run`, `profile`, `compare`, `bench`, `tune`, `doctor` and `cluster` pass on the words after "--";
// `cluster-shell` gets ssh's words.
Words split_words(std::vector<std::string>& arguments) {
    Words result;
    if (arguments.empty()) return result;
    if (arguments.front() == "cluster-shell") {
        result.words.assign(arguments.begin() + 1, arguments.end());
        arguments.resize(1);
        return result;
    }
    const std::string& first = arguments.front();
    const auto takes_words = {"run", "profile", "compare", "bench", "tune", "doctor", "cluster"};
    if (std::find(takes_words.begin(), takes_words.end(), first) == takes_words.end()) return result;
    const auto separator = std::find(arguments.begin(), arguments.end(), "--");
    if (separator == arguments.end()) return result;
    result.separated = true;
    result.words.assign(separator + 1, arguments.end());
    arguments.erase(separator, arguments.end());
    return result;
}

// The named subcommand; empty without one. Throws Error for an unknown one.
std::string subcommand_of(const std::vector<std::string>& arguments, const std::vector<Command>& commands) {
    const auto word = std::find_if(arguments.begin(), arguments.end(),
                                   [](const std::string& argument) { return !argument.starts_with("-"); });
    if (word == arguments.end()) return "";
    std::vector<std::string> valid;
    for (const Command& command : commands) {
        if (command.options->name() == *word) return *word;
        if (!command.hidden) valid.push_back(command.options->name());
    }
    throw_invalid(fmt::format("unknown subcommand '{}'{}", *word, suggestion(*word, valid)));
}

void require_written() {
    // ferror() also reports a write that failed earlier.
    errno = 0;
    if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return;
    throw Error(ErrorCode::system, fmt::format("cannot write the output{}{}", errno != 0 ? ": " : "",
                                               errno != 0 ? std::strerror(errno) : ""));
}

// The one that the first word names, otherwise all: the options of all take longer than a launcher needs to
// start.
std::vector<Command> add_subcommands(CommandLine& tool, const std::vector<std::string>& arguments,
                                     const Words& words, const Tool& program) {
    const auto named = [&](const Subcommand& one) { return !arguments.empty() && one.name == arguments[0]; };
    const auto found = std::ranges::find_if(program.subcommands, named);
    if (found != program.subcommands.end()) return {found->add(tool, words)};
    std::vector<Command> commands;
    for (const Subcommand& one : program.subcommands) {
        commands.push_back(one.add(tool, words));
        if (*one.group != '\0') commands.back().options->group(one.group);
    }
    commands.push_back(add_man_pages(tool, program.page));
    return commands;
}

int run_subcommand(std::vector<std::string> arguments, const Tool& program, std::string& who) {
    const Words words = split_words(arguments);
    CommandLine tool("lapwing", program.about);
    tool.add_version_flag("lapwing " LAPWING_VERSION);
    tool.footer(program.footer);
    const std::vector<Command> commands = add_subcommands(tool, arguments, words, program);
    if (arguments.empty()) {
        print_message("{}", tool.help());
        return not_started;
    }
    const std::string subcommand = subcommand_of(arguments, commands);
    if (!subcommand.empty()) who += " " + subcommand;
    // Unknown options are answered below, with the nearest valid one.
    tool.allow_extras();
    for (const Command& command : commands) command.options->allow_extras();
    if (const auto text = tool.parse(arguments)) {
        fmt::print("{}", *text);
        require_written();
        return success;
    }
    for (const Command& command : commands) {
        if (!command.options->parsed()) continue;
        refuse_unknown_options(*command.options, command.answers_extra_words);
        for (const CommandLine* nested : command.options->parsed_subcommands()) {
            refuse_unknown_options(*nested, command.answers_extra_words);
        }
        const int status = command.run();
        require_written();
        return status;
    }
    refuse_unknown_options(tool, false);
    return not_started;
}

}  // namespace

int run_tool(int argument_count, char** arguments, const Tool& program) {
    std::string who = "lapwing";
    reserve_standard_descriptors();
    try {
        return run_subcommand({arguments + 1, arguments + argument_count}, program, who);
    } catch (const std::bad_alloc&) {
        print_message("{}: out of memory; try fewer ranks, or smaller files\n", who);
        return not_started;
    } catch (const std::filesystem::filesystem_error& error) {
        std::fflush(stdout);
        std::error_code deleted;
        const std::filesystem::path here = std::filesystem::current_path(deleted);
        const std::string file =
            deleted ? "the working directory" : (error.path1().empty() ? here : error.path1()).string();
        print_message("{}: {}: {}{}\n", who, printable(file), error.code().message(),
                      file.starts_with("/proc/") ? "; is /proc mounted?" : "");
        return not_started;
    } catch (const std::exception& error) {
        std::fflush(stdout);
        print_message("{}: {}\n", who, error.what());
        return not_started;
    }
}

}  // namespace lapwing::tool
