// lapwing completion: makes bash complete lapwing's command lines. The script asks the tool itself, by
// `lapwing complete WORD...`, what may follow. The answers come from the options themselves.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "command_line/command_line.hpp"
#include "lapwing/common/command.hpp"
#include "lapwing/common/laboratory.hpp"
#include "lapwing/common/values.hpp"
#include "lapwing/mpi/family.hpp"
#include "task/problem.hpp"

namespace lapwing::tool {
namespace {

// Where the words belong to another program its own completion takes over, if the shell has one.
constexpr const char* bash = R"shell(# lapwing's completion for bash.
_lapwing() {
    local candidates rest
    # What stands after the cursor does not count; COMP_WORDS has "=" and ":" apart, which is enough here.
    candidates=$("${COMP_WORDS[0]}" complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2> /dev/null) || return
    rest=${candidates%%$'\n'*}
    case $rest in
        command:*)
            if declare -F _command_offset > /dev/null; then
                _command_offset $((${rest#command:} + 1))
            else
                compopt -o default
            fi
            return ;;
        files) compopt -o default ;;
    esac
    local IFS=$'\n'
    COMPREPLY=($(printf '%s\n' "$candidates" | tail -n +2))
}
complete -F _lapwing lapwing
)shell";

struct Completion {
    std::vector<std::string> candidates;
    // "files": the shell adds file names; "command:2": the words from number 2 on are the command
    // line of another program.
    std::string rest;
};

const CommandLine* subcommand(const CommandLine& app, const std::string& name) {
    for (const auto& nested : app.subcommands()) {
        if (nested->name() == name) return nested.get();
    }
    return nullptr;
}

std::optional<OptionText> option(const CommandLine& app, const std::string& word) {
    if (!word.starts_with("-")) return std::nullopt;
    for (OptionText& option : app.options()) {
        if (std::ranges::find(option.names, word) != option.names.end()) return std::move(option);
    }
    return std::nullopt;
}

void add_subcommands(const CommandLine& app, Completion& completion) {
    for (const auto& nested : app.subcommands()) {
        if (!nested->group().empty()) completion.candidates.push_back(nested->name());
    }
}

void add_options(const CommandLine& app, Completion& completion) {
    for (const OptionText& option : app.options()) {
        if (option.hidden || option.positional) continue;
        for (const std::string& name : option.names)
            if (name.starts_with("--")) completion.candidates.push_back(name);
    }
}

// By the name of the option's type, or of the positional.
void add_values(const std::string& type, Completion& completion) {
    std::vector<std::string>& words = completion.candidates;
    if (type.starts_with("FILE") || type.starts_with("DIR")) {
        completion.rest = "files";
    } else if (type == "E" || type == "E,...") {
        words = engine_names();
    } else if (type == "M") {
        for (const MpiFamily& family : mpi_families()) words.emplace_back(family.name);
    } else if (type == "COLLECTIVE" || type == "C") {
        for (const Collective collective : all_collectives()) words.emplace_back(name(collective));
    } else if (type == "SHELL") {
        words.emplace_back("bash");
    }
}

// `words`: those after the tool's name; the last one is incomplete and may be empty.
Completion complete(const CommandLine& tool, const std::vector<std::string>& words) {
    Completion completion;
    const CommandLine* app = &tool;
    std::optional<std::string> awaited;  // the type of the value that follows
    for (std::size_t i = 0; i + 1 < words.size(); ++i) {
        const std::string& word = words[i];
        if (word == "--") {
            completion.rest = fmt::format("command:{}", i + 1);
            return completion;
        }
        if (awaited) {
            awaited.reset();
        } else if (const std::optional<OptionText> named = option(*app, word)) {
            if (named->takes_value) awaited = named->type;
        } else if (const CommandLine* const nested = subcommand(*app, word); nested != nullptr) {
            app = nested;
        }
    }
    const std::string written = words.empty() ? "" : words.back();
    if (awaited) {
        add_values(*awaited, completion);
    } else if (written.starts_with("-")) {
        add_options(*app, completion);
    } else {
        add_subcommands(*app, completion);
        for (const OptionText& one : app->options())
            if (one.positional) add_values(one.names.front(), completion);
    }
    std::erase_if(completion.candidates,
                  [&](const std::string& candidate) { return !candidate.starts_with(written); });
    return completion;
}

int print_script(const std::string& shell) {
    if (shell != "bash")
        throw_invalid(fmt::format("no completion script for the shell '{}'; valid: bash", shell));
    fmt::print("{}", bash);
    return success;
}

// The laboratory completes its own command lines.
void complete_in_laboratory(std::vector<std::string> words) {
    std::string name = "lapwing";
    std::string complete = "complete";
    std::vector<char*> arguments = {name.data(), complete.data()};
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    run_laboratory(arguments.data());
}

int print_candidates(const CommandLine& tool, const std::vector<std::string>& words) {
    const bool of_laboratory =
        words.size() > 1 && is_laboratory(words.front()) && subcommand(tool, words.front()) == nullptr;
    if (of_laboratory && find_laboratory()) complete_in_laboratory(words);
    Completion completion = complete(tool, words);
    if (words.size() == 1 && subcommand(tool, laboratory_commands[0]) == nullptr && find_laboratory()) {
        for (const char* command : laboratory_commands)
            if (std::string_view(command).starts_with(words.front()))
                completion.candidates.emplace_back(command);
    }
    fmt::print("{}\n", completion.rest);
    for (const std::string& candidate : completion.candidates) fmt::print("{}\n", candidate);
    return success;
}

}  // namespace

Command add_completion(CommandLine& tool) {
    auto shell = std::make_shared<std::string>();
    CommandLine* app = tool.add_subcommand("completion", "Print the completion script of a shell");
    app->add_option("SHELL", *shell, "bash")->required();
    app->footer(
        "Example:\n"
        "  source <(lapwing completion bash)        in ~/.bashrc\n\n"
        "A Lapwing that was installed already includes this script.");
    return {app, [shell] { return print_script(*shell); }};
}

Command add_complete(CommandLine& tool, const Words& words) {
    CommandLine* app = tool.add_subcommand("complete", "Print what may follow on a command line")->group("");
    return {app, [&tool, &words] { return print_candidates(tool, words.words); }, true};
}

}  // namespace lapwing::tool
